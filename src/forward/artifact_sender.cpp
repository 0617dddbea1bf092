#include "forward/artifact_sender.hpp"

#include <map>
#include <optional>

#include "base/printable.hpp"
#include "forward/again.hpp"
#include "store/location.hpp"

namespace plimsoll::forward {

Status ArtifactSender::send(const std::filesystem::path& from, const RemotePlace& to,
                            const std::string& below) {
  constexpr std::size_t kMostFiles = 1'000'000;
  const Result<std::vector<store::File>> files = store::list_files(from, kMostFiles);
  if (!files) return std::unexpected(files.error());
  if (files->size() == kMostFiles)
    return std::unexpected(Error{"there are more files than can be sent", printable(from.string())});
  std::map<std::string, std::map<std::string, std::int64_t>> there;  // sizes by folder and name
  for (const store::File& file : *files) {
    const std::string path = below.empty() ? file.path : below + "/" + file.path;
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? std::string() : path.substr(0, slash);
    const auto [listed, is_new] = there.try_emplace(folder);
    if (is_new) {
      auto sizes = again([&] { return files_.sizes(to, folder); });
      if (!sizes) return std::unexpected(std::move(sizes).error());
      listed->second = std::move(*sizes);
    }
    const auto same = listed->second.find(path.substr(slash + 1));
    if (same != listed->second.end() && same->second == file.bytes) {
      ++sent_.present;
      continue;
    }
    sent_.current = path;
    if (report_) report_(sent_);
    const auto refusal = again([&] { return files_.put(to, path, from / file.path, file.bytes); });
    if (!refusal && refusal.error().kind == Error::Kind::not_found) continue;  // it is gone by now
    if (!refusal) return std::unexpected(refusal.error());
    if (*refusal) {
      left_out_->push_back({fmt::format("file {}", quote(path)), **refusal});
      continue;
    }
    ++sent_.files;
    sent_.bytes += file.bytes;
  }
  return {};
}

}  // namespace plimsoll::forward
