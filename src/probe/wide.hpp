#pragma once

/// A function compiled several times, of which the one for this processor's vectors is taken when the program
/// is loaded: a portable program reaches wide vectors, too. Sanitizers are not ready when that choice is
/// made.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLIMSOLL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLIMSOLL_SANITIZED 1
#endif
#endif

#if defined(__x86_64__) && !defined(PLIMSOLL_SANITIZED)
#define PLIMSOLL_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PLIMSOLL_WIDE
#endif
