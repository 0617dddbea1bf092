#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "run/interest.hpp"

namespace plimsoll::running {

/// The last part of a text of any length.
class Tail {
 public:
  explicit Tail(std::size_t limit) : limit_(limit) {}
  void add(std::string_view text);
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] std::uint64_t dropped() const { return total_ - text().size(); }

 private:
  std::size_t limit_;
  std::string kept_;
  std::uint64_t total_ = 0;
};

/// A run's log: its beginning up to a limit, and its end; what lies between is counted.
class LogFile {
 public:
  LogFile(const std::filesystem::path& path, std::uint64_t limit);
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() { finish(); }
  void add(std::string_view text);
  /// Writes the end and brings all of it to the disk, which may take a while; nothing may be added after it.
  void finish();
  [[nodiscard]] bool failed() const { return failed_; }  ///< the disk did not take all of it

 private:
  void write(std::string_view text);
  std::filesystem::path directory_;
  FileDescriptor file_;
  std::uint64_t room_;
  Tail end_;
  bool failed_ = false;
  bool finished_ = false;
};

/// A descriptor of this process to which a command's output is passed on, without ever blocking on a reader
/// who has stopped.
class Passage {
 public:
  explicit Passage(int descriptor) : descriptor_(descriptor) {}
  [[nodiscard]] bool is_empty() const { return broken_ || pending_.empty(); }
  [[nodiscard]] bool has_room() const { return pending_.size() < kMostPending; }
  [[nodiscard]] bool is_broken() const { return broken_; }  ///< nobody reads any more
  void add(std::string_view text);
  void collect(Interests& interests);
  /// Nobody is to be passed anything any more.
  void close() {
    broken_ = true;
    pending_.clear();
    written_ = 0;
  }

 private:
  void write_some();
  static constexpr std::size_t kMostPending = std::size_t{1} << 20;
  int descriptor_;
  std::string pending_;
  std::size_t written_ = 0;
  bool broken_ = false;
};

/// One stream of a command on its way to the terminal, the log and whoever looks at its lines.
class OutputStream {
 public:
  using Take = std::function<void(std::string_view)>;
  /// `grows`: the source is a file, whose end is not the last of it.
  OutputStream(FileDescriptor& source, bool grows, Take on_text, Take on_line)
      : source_(source), grows_(grows), on_text_(std::move(on_text)), on_line_(std::move(on_line)) {}
  [[nodiscard]] bool is_open() const { return static_cast<bool>(source_); }
  [[nodiscard]] int descriptor() const { return source_.get(); }
  /// Reads what is there, at most a pipe's fill. True where there may be more.
  bool read_some();
  void finish();  ///< hands on the last line, which has no newline
  void close();

 private:
  void split(std::string_view text);
  FileDescriptor& source_;
  bool grows_;
  Take on_text_;
  Take on_line_;
  std::string line_;
  bool skipping_ = false;  ///< within a line that is too long
};

}  // namespace plimsoll::running
