#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace plimsoll::serve::mlflow {

/// Runs as they were last sent, by id and version: a search that finds them again reads and writes them no
/// more. Holds about as many bytes as it may, those that were asked for last. Several threads use it.
class RunTexts {
 public:
  using Text = std::shared_ptr<const std::string>;

  explicit RunTexts(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Nothing where it is not there in this version.
  [[nodiscard]] Text find(const std::string& id, std::int64_t version);
  void keep(const std::string& id, std::int64_t version, Text text);
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Entry {
    std::int64_t version = 0;
    Text text;
  };
  struct Generation {
    std::unordered_map<std::string, Entry> entries = {};
    std::size_t bytes = 0;
  };
  void put(const std::string& id, Entry entry);

  std::size_t most_bytes_;
  mutable std::mutex mutex_;
  /// What is used comes into the present one; when that is half of all, the one before it goes.
  Generation present_, before_;
};

}  // namespace plimsoll::serve::mlflow
