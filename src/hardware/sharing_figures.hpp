#pragma once
#include <span>
#include <string_view>

#include "base/figure.hpp"

namespace plimsoll::hardware {

/// What sharing a GPU costs, as physics of the device and its driver; none belongs to a network. What each
/// was measured by is in docs/beside.md.
struct SharingFigures {
  // Without MPS: contexts take turns.
  double slice = 2.09e-3;  ///< s that a context has the GPU for, while another wants it
  double change = 1.7e-4;  ///< s from the end of one context's turn to the begin of the next one's
  double refill = 5.0e-5;  ///< s of each turn that are lost while caches are cold

  // Under MPS: kernels of several processes are in the SMs at once.
  double client_launch = 8e-7;   ///< s more before each kernel of a client, alone or not
  double client_run = 0.01;      ///< of a kernel's time more
  double crowded_launch = 1e-6;  ///< s more before each kernel where others launch, too
  double client_host = 0.07;     ///< of the host's time more
  /// A kernel takes longer by this times the share of the memory's bandwidth that others take.
  double crowding_memory = 0.6, crowding_compute = 0.6, crowding_launch = 0.8;

  // Fewer SMs. A kernel's time is that of its SMs and that of what does not depend on them, added as powers
  // of `cap_exponent`; the first over the second, with all SMs, by what binds the kernel.
  double cap_exponent = 1.86;
  double cap_compute = 1.75, cap_memory = 1.02, cap_launch = 0.39;

  Provenance provenance = Provenance::assumed;
  friend bool operator==(const SharingFigures&, const SharingFigures&) = default;
};

struct SharingFigureRow {
  std::string_view name;  ///< in files
  double SharingFigures::* figure;
  double least, most;
};
[[nodiscard]] std::span<const SharingFigureRow> sharing_figure_rows();

}  // namespace plimsoll::hardware
