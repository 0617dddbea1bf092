#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/answer.hpp"
#include "probe/study.hpp"

namespace plimsoll::probe {

/// What processes answered that shared a GPU, and alone for comparison; nothing where they could not be run.
struct SharingAnswers {
  std::vector<cuda::Turns> turns = {};  ///< of two watchers without MPS
  std::int64_t kernels = 1;             ///< of a step of small kernels

  // Times of a step of small kernels that only count cycles.
  std::optional<Rate> alone = {};           ///< without MPS
  std::optional<Rate> client = {};          ///< alone as a client of MPS, as all below
  std::optional<Rate> crowded = {};         ///< beside another client that does the same
  std::optional<Rate> spin_streamed = {};   ///< beside a client that streams
  std::optional<Rate> spin_streaming = {};  ///< of which these are the bytes

  // The same of small kernels whose data stay in the L2.
  std::optional<Rate> near = {};
  std::optional<Rate> near_streamed = {};
  std::optional<Rate> near_streaming = {};

  std::optional<Rate> streaming = {};  ///< of a client that has all SMs: the bandwidth that there is
};

/// One of share::SharingFigures, by its name there.
struct SharingFigure {
  std::string_view name;
  double value = 0;
  friend bool operator==(const SharingFigure&, const SharingFigure&) = default;
};

struct SharingFindings {
  std::vector<SharingFigure> figures;  ///< those that were measured
  std::vector<std::string> remarks;    ///< why others were not
};

/// What follows from the answers: docs/commands/probe.md has the formulas.
[[nodiscard]] SharingFindings sharing_findings(const SharingAnswers& answers);

}  // namespace plimsoll::probe
