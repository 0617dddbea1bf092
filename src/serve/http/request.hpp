#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::serve {

/// Names with values, in the order in which they came; a name may come several times.
class Pairs {
 public:
  using Entry = std::pair<std::string, std::string>;
  using value_type = Entry;
  using const_iterator = std::vector<Entry>::const_iterator;
  Pairs() = default;
  Pairs(std::initializer_list<Entry> entries) : entries_(entries) {}

  void add(std::string name, std::string value) { entries_.emplace_back(std::move(name), std::move(value)); }
  /// The first value of that name; null where there is none.
  [[nodiscard]] const std::string* find(std::string_view name) const {
    for (const auto& [known, value] : entries_)
      if (known == name) return &value;
    return nullptr;
  }
  /// Every value of that name.
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const {
    std::vector<std::string> values;
    for (const auto& [known, value] : entries_)
      if (known == name) values.push_back(value);
    return values;
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const_iterator begin() const { return entries_.begin(); }
  [[nodiscard]] const_iterator end() const { return entries_.end(); }
  bool operator==(const Pairs&) const = default;

 private:
  std::vector<Entry> entries_;
};

/// A file that goes with the object, unless it was given a place.
class ReceivedFile {
 public:
  /// `path` is of a file that exists, and is the object's from now on.
  explicit ReceivedFile(std::filesystem::path path) : path_(std::move(path)) {}
  ReceivedFile(ReceivedFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ReceivedFile& operator=(ReceivedFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ReceivedFile(const ReceivedFile&) = delete;
  ReceivedFile& operator=(const ReceivedFile&) = delete;
  ~ReceivedFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The file has another name now: what comes to be at the old one is somebody else's.
  void release() { path_.clear(); }

 private:
  std::filesystem::path path_;  // empty after a move, and where the file has a place
};

/// What a client asks. In the head alone, which Admit sees, the body is still to come.
struct Request {
  std::string method = {};  ///< "GET": upper case as it was sent
  std::string path = {};    ///< begins with "/"; percent-decoded once, valid UTF-8, no NUL. May hold "..".
  Pairs query = {};         ///< decoded, "+" as a space; valid UTF-8, no NUL
  Pairs headers = {};       ///< names in lower case
  std::string host =
      {};  ///< of the Host header or the absolute target, as sent; empty where there is neither
  std::string target = {};  ///< as it was sent, for messages
  std::string body = {};
  std::optional<ReceivedFile> body_file = {};  ///< in place of `body`, where Admission asked for it

  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const {
    const std::string* value = headers.find(lower_case_name);
    return value == nullptr ? std::string_view() : std::string_view(*value);
  }
};

}  // namespace plimsoll::serve
