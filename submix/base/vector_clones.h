// Marks a function whose loops are compiled once for each vector width and chosen when the program
// is loaded. The arithmetic, and with -ffp-contract=off every bit of the results, is the same.
#pragma once

// The choice is made before sanitizers are ready for it.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SUBMIX_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define SUBMIX_VECTOR_CLONES
#endif
