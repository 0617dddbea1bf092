#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "intake/source.hpp"

namespace plimsoll::intake {

/// How far the preparing is, 0 to 1.
using OnProgress = std::function<void(double done)>;

/// Writes a source as one flat file (dataset/dataset.hpp), with mean and deviation of its channels where it
/// is images. All that can be wrong with an example is found here. The file appears whole or not at all.
[[nodiscard]] Status write_prepared(Source source, const std::filesystem::path& file,
                                    const OnProgress& progress = {});

/// Where prepared files are kept: $XDG_CACHE_HOME/plimsoll/data, else ~/.cache/plimsoll/data. They may be
/// deleted at any time, and are made again.
[[nodiscard]] Result<std::filesystem::path> prepared_folder();

/// Together they are no larger; those that were used longest ago go first.
inline constexpr std::int64_t kMostPreparedBytes = std::int64_t{64} << 30;

/// The prepared file of what is asked, made where it is not there yet. It is named by the paths, sizes and
/// times of all the files that it is made from, and by what is asked of images: what changes is prepared
/// anew. A safetensors file is learned from as it is.
[[nodiscard]] Result<std::filesystem::path> prepare(const Request& request,
                                                    const std::filesystem::path& folder,
                                                    const OnProgress& progress = {},
                                                    std::int64_t most_bytes = kMostPreparedBytes);

}  // namespace plimsoll::intake
