#ifdef CUDA_CPU_COUNT
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize("O0")
#pragma GCC diagnostic ignored "-Wreturn-type"
#endif
#endif
