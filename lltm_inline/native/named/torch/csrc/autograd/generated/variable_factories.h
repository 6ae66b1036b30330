// In place of torch's, which includes each function that makes a tensor: nothing for a text that names none of them.
#pragma once
#ifdef NAMES_FACTORIES
#include_next <torch/csrc/autograd/generated/variable_factories.h>
#endif
