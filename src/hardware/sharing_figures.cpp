#include "hardware/sharing_figures.hpp"

#include <array>

namespace plimsoll::hardware {
namespace {

constexpr std::array kSharingFigureRows = {
    SharingFigureRow{"slice", &SharingFigures::slice, 1e-5, 1},
    SharingFigureRow{"change", &SharingFigures::change, 0, 1},
    SharingFigureRow{"refill", &SharingFigures::refill, 0, 1},
    SharingFigureRow{"client_launch", &SharingFigures::client_launch, 0, 1e-3},
    SharingFigureRow{"client_run", &SharingFigures::client_run, 0, 1},
    SharingFigureRow{"crowded_launch", &SharingFigures::crowded_launch, 0, 1e-3},
    SharingFigureRow{"client_host", &SharingFigures::client_host, 0, 10},
    SharingFigureRow{"crowding_memory", &SharingFigures::crowding_memory, 0, 100},
    SharingFigureRow{"crowding_compute", &SharingFigures::crowding_compute, 0, 100},
    SharingFigureRow{"crowding_launch", &SharingFigures::crowding_launch, 0, 100},
    SharingFigureRow{"cap_exponent", &SharingFigures::cap_exponent, 0.1, 20},
    SharingFigureRow{"cap_compute", &SharingFigures::cap_compute, 0, 100},
    SharingFigureRow{"cap_memory", &SharingFigures::cap_memory, 0, 100},
    SharingFigureRow{"cap_launch", &SharingFigures::cap_launch, 0, 100},
};

}  // namespace

std::span<const SharingFigureRow> sharing_figure_rows() {
  return kSharingFigureRows;
}

}  // namespace plimsoll::hardware
