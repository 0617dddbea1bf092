#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"

namespace plimsoll::probe {

/// A library of matrix products that is installed here, opened at run time: nothing is linked to it. It stays
/// loaded until the process ends, since its threads could not be waited for.
class Blas {
 public:
  /// The first of OpenBLAS, MKL, BLIS and the reference that is there, or what the environment variable
  /// PLIMSOLL_BLAS_LIBRARY names. Without one: Kind::machine_lacks.
  [[nodiscard]] static Result<Blas> open();
  [[nodiscard]] static Result<Blas> open(const std::vector<std::string>& files);

  [[nodiscard]] const std::string& name() const { return name_; }  ///< with its version, where it tells

  /// c = a * b, square matrices by rows.
  void multiply(const float* a, const float* b, float* c, int size) const;
  [[nodiscard]] bool multiplies_doubles() const { return dgemm_ != nullptr; }
  void multiply(const double* a, const double* b, double* c, int size) const;

  /// As many as the process may use; a library counts the machine's processors by itself, not the cgroup's.
  void use_threads(int threads) const;

 private:
  // The C interface of BLAS (Basic Linear Algebra Technical Forum, 2001), with 32-bit sizes.
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                         float*, int);
  using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                         double*, int);
  Blas() = default;

  std::string name_;
  Sgemm sgemm_ = nullptr;
  Dgemm dgemm_ = nullptr;
  void (*set_threads_)(int) = nullptr;
};

}  // namespace plimsoll::probe
