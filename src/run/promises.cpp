#include "run/promises.hpp"

#include <algorithm>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "job/fields.hpp"
#include "run/process_identity.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFolder = "promises";
constexpr const char* kLock = "admission.lock";
constexpr std::size_t kLargestPromise = std::size_t{64} << 10;

/// Ids are the store's own words; a name that is none leads nowhere else.
bool is_plain(std::string_view run) {
  return !run.empty() && run.size() <= 128 && std::ranges::all_of(run, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

fs::path file_of(const fs::path& directory, const std::string& run) {
  return directory / kFolder / (run + ".json");
}

Result<Promise> read_promise(const fs::path& file) {
  const Result<std::string> text = read_file(file, kLargestPromise);
  if (!text) return std::unexpected(text.error());
  const Result<job::Json> parsed = job::parse_within(*text, kLargestPromise, 3);
  if (!parsed) return std::unexpected(parsed.error());
  std::optional<Error> error;
  const job::Fields fields(*parsed, {}, error);
  Promise out{.run = fields.text("run"),
              .devices = fields.texts("devices"),
              .need = Bytes(fields.whole("need_bytes")),
              .first = static_cast<pid_t>(fields.whole("first", 0, 1 << 30))};
  if (error) return std::unexpected(*std::move(error));
  return out;
}

}  // namespace

Status note_promise(const fs::path& directory, const Promise& promise) {
  if (!is_plain(promise.run)) return fail("{} is no run's id", quote(promise.run));
  std::error_code failed;
  fs::create_directories(directory / kFolder, failed);
  if (failed)
    return std::unexpected(Error{failed.message(), directory.string(), {}, Error::Kind::machine_lacks});
  const job::Json out{{"run", promise.run},
                      {"devices", job::texts_json(promise.devices)},
                      {"need_bytes", promise.need.count()},
                      {"first", promise.first}};
  return write_file(file_of(directory, promise.run), job::dump(out) + "\n");
}

void drop_promise(const fs::path& directory, const std::string& run) {
  std::error_code ignored;
  if (is_plain(run)) fs::remove(file_of(directory, run), ignored);
}

std::vector<Promise> list_promises(const fs::path& base) {
  std::vector<Promise> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(base, ignored)) {
    if (!entry.is_directory(ignored) || entry.is_symlink(ignored)) continue;
    const auto owner = ProcessIdentity::parse(read_file(entry.path() / "owner", 4096).value_or(""));
    if (!owner || !owner->lives()) continue;
    // One that is being written has another ending; one that is damaged promises nothing that could be kept.
    for (const auto& file : fs::directory_iterator(entry.path() / kFolder, ignored))
      if (file.path().extension() == ".json")
        if (Result<Promise> promise = read_promise(file.path())) out.push_back(*std::move(promise));
  }
  std::ranges::sort(out, {}, &Promise::run);
  return out;
}

std::vector<KnownRun> runs_of(std::span<const Promise> promises) {
  std::vector<KnownRun> out;
  for (const Promise& promise : promises) out.push_back({promise.run, promise.first});
  return out;
}

Result<AdmissionLock> AdmissionLock::take(const fs::path& base, std::chrono::milliseconds patience) {
  Result<FileLock> lock = FileLock::of_file(base / kLock, patience);
  if (!lock) return std::unexpected(std::move(lock).error());
  return AdmissionLock(*std::move(lock));
}

}  // namespace plimsoll::running
