#pragma once
#include <filesystem>
#include <functional>

#include "base/error.hpp"
#include "cuda/answer.hpp"
#include "probe/cpu_studies.hpp"
#include "probe/sharing.hpp"

namespace plimsoll::probe {

struct SharingStudy {
  cuda::Device device;
  SharingFindings findings;
  bool interrupted = false;  ///< because whoever was asked said so; there are no findings then
};

/// Lets processes of plimsoll-cuda share a GPU, without MPS and under one that is started for it and ended
/// after, about a minute in all. No setting of the GPU is changed. What could not be run is a remark. Fails
/// where not even one process could use the GPU alone.
[[nodiscard]] Result<SharingStudy> study_sharing(const std::filesystem::path& program, int device,
                                                 const Progress& progress,
                                                 const std::function<bool()>& interrupted);

}  // namespace plimsoll::probe
