#ifdef CUDA_CPU_COUNT
#ifdef __clang__
#pragma clang optimize on
#else
#pragma GCC reset_options
#endif
#endif
