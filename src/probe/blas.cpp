#include "probe/blas.hpp"

#include <cstdlib>

#include <dlfcn.h>

#include "base/printable.hpp"
#include "base/signals_held_back.hpp"

namespace plimsoll::probe {
namespace {

constexpr int kRowMajor = 101, kAsItIs = 111;  // CblasRowMajor, CblasNoTrans
constexpr std::size_t kLongestName = 120;

template <class Function>
Function* function(void* library, const char* symbol) {
  return reinterpret_cast<Function*>(::dlsym(library, symbol));
}

/// Each tells its version in a way of its own; the file's name stands for those that do not.
std::string name_of(void* library, const std::string& file) {
  if (const auto config = function<char*()>(library, "openblas_get_config"))
    return printable(config(), kLongestName);
  if (const auto version = function<void(char*, int)>(library, "mkl_get_version_string")) {
    std::string text(256, '\0');
    version(text.data(), static_cast<int>(text.size()) - 1);
    text.resize(text.find('\0'));
    return printable(text.substr(0, text.find_last_not_of(' ') + 1), kLongestName);
  }
  if (const auto version = function<const char*()>(library, "bli_info_get_version_str"))
    return "BLIS " + printable(version(), kLongestName);
  return printable(file, kLongestName);
}

}  // namespace

Result<Blas> Blas::open() {
  if (const char* given = std::getenv("PLIMSOLL_BLAS_LIBRARY"); given != nullptr && *given != '\0')
    return open({given});
  return open({"libopenblas.so.0", "libmkl_rt.so.2", "libmkl_rt.so", "libblis.so.4", "libcblas.so.3",
               "libblas.so.3"});
}

Result<Blas> Blas::open(const std::vector<std::string>& files) {
  const SignalsHeldBack held;  // the library starts threads
  for (const std::string& file : files) {
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    Blas blas;
    blas.sgemm_ = function<std::remove_pointer_t<Sgemm>>(library, "cblas_sgemm");
    blas.dgemm_ = function<std::remove_pointer_t<Dgemm>>(library, "cblas_dgemm");
    if (blas.sgemm_ == nullptr) {
      ::dlclose(library);
      continue;
    }
    blas.name_ = name_of(library, file);
    for (const char* symbol : {"openblas_set_num_threads", "MKL_Set_Num_Threads"})
      if (blas.set_threads_ == nullptr) blas.set_threads_ = function<void(int)>(library, symbol);
    return blas;
  }
  return std::unexpected(
      Error{"no library of matrix products was found on this machine",
            {},
            "`apt install libopenblas0` brings one; PLIMSOLL_BLAS_LIBRARY names one in another place.",
            Error::Kind::machine_lacks});
}

void Blas::multiply(const float* a, const float* b, float* c, int size) const {
  const SignalsHeldBack held;  // the library starts threads
  sgemm_(kRowMajor, kAsItIs, kAsItIs, size, size, size, 1, a, size, b, size, 0, c, size);
}

void Blas::multiply(const double* a, const double* b, double* c, int size) const {
  const SignalsHeldBack held;  // the library starts threads
  dgemm_(kRowMajor, kAsItIs, kAsItIs, size, size, size, 1, a, size, b, size, 0, c, size);
}

void Blas::use_threads(int threads) const {
  const SignalsHeldBack held;  // the library starts threads
  if (set_threads_ != nullptr) set_threads_(threads);
}

}  // namespace plimsoll::probe
