// Marks a function whose loops are compiled once for each vector width and chosen when the program
// is loaded. The arithmetic, and with -ffp-contract=off every bit of the results, is the same.
#pragma once

#if defined(__has_feature)  // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SUBMIX_HAS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SUBMIX_HAS_SANITIZER
#endif

// The choice is made before sanitizers are ready for it.
#if defined(__x86_64__) && defined(__linux__) && !defined(SUBMIX_HAS_SANITIZER)
#define SUBMIX_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define SUBMIX_VECTOR_CLONES
#endif

#undef SUBMIX_HAS_SANITIZER
