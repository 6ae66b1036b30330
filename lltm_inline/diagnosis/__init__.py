"""From a compiler's log to the line, the cause and the cure.

diagnostics         the whole way: a log becomes messages that a person reads
compiler_log, nvcc_log    what g++, clang++, nvcc, linkers and the loader say, as records
causes              which of them is the cause, and at which of the user's lines it belongs
advice_*            the cures, in tables of rules (`rules`): names has characters, brackets and semicolons too, types has calls and
                    linkers, pairs two types that do not go together, tensors, habits from other languages, cuda
names               what beginners mean by a name, and which header has it
source_text         what a C++ text tells without a compiler
"""
