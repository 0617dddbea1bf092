#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "forward/left_out.hpp"
#include "forward/remote_files.hpp"

namespace plimsoll::forward {

/// How far files are.
struct FilesSent {
  std::size_t files = 0, present = 0;  ///< sent; and those that were there
  std::int64_t bytes = 0;              ///< sent
  std::string current = {};            ///< the file that goes now
};

/// Brings all regular files below a folder to a server, one after the other. A file that is there in the same
/// size is taken to be the same: so what was cut short goes on. Symbolic links are left out.
class ArtifactSender {
 public:
  /// `report` is told before each file; may be empty.
  ArtifactSender(MlflowServer& server, std::vector<LeftOut>& left_out,
                 std::function<void(const FilesSent&)> report)
      : files_(server), left_out_(&left_out), report_(std::move(report)) {}

  /// `below`: a folder in the place.
  [[nodiscard]] Status send(const std::filesystem::path& from, const RemotePlace& to,
                            const std::string& below = {});
  [[nodiscard]] const FilesSent& sent() const { return sent_; }

 private:
  RemoteFiles files_;
  std::vector<LeftOut>* left_out_;
  std::function<void(const FilesSent&)> report_;
  FilesSent sent_ = {};
};

}  // namespace plimsoll::forward
