#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/files.hpp"
#include "serve/http/request.hpp"

namespace plimsoll::serve::dashboard {

/// Model files that were dropped into the page: in a folder that only this user may enter, for an hour, and
/// gone with the server. Several threads use it.
class UploadedModels {
 public:
  static constexpr std::uint64_t kLargest = std::uint64_t{2} << 30;
  static constexpr std::size_t kMost = 16;
  static constexpr std::chrono::minutes kKept{60};
  using Clock = std::chrono::steady_clock;

  /// Where the body of an upload is to go; nothing where no more is taken.
  [[nodiscard]] Result<std::filesystem::path> fresh_place();
  /// Keeps the file under a name of its own ("upload:7f…"). What it is is told by the end of `name`: .onnx,
  /// .gguf, .json (a configuration of Hugging Face); others are refused.
  [[nodiscard]] Result<std::string> keep(ReceivedFile& file, std::string_view name);
  /// The file or folder that a name means; not_found where it has gone.
  [[nodiscard]] Result<std::filesystem::path> find(std::string_view id);
  void remove(std::string_view id);

 private:
  struct Kept {
    std::filesystem::path folder, model;
    Clock::time_point until;
  };
  void forget_the_old();

  std::mutex mutex_;
  std::optional<TemporaryDirectory> folder_;
  std::map<std::string, Kept, std::less<>> kept_;
};

}  // namespace plimsoll::serve::dashboard
