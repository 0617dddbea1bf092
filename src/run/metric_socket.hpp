#pragma once
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <string>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "run/interest.hpp"
#include "run/metric_line.hpp"

namespace plimsoll::running {

/// A Unix socket on which a command says what it would else print: one statement per line, without the
/// prefix. For every metric that is kept for good the count of such so far comes back as "ok N"; a line that
/// cannot be understood gets "error LINE: why".
class MetricSocket {
 public:
  /// Takes a statement; for a metric, the number from which on committed() means that it is kept.
  using Take = std::function<std::uint64_t(const Statement&)>;
  [[nodiscard]] static Result<MetricSocket> listen(const std::filesystem::path& path, Take take);
  MetricSocket(MetricSocket&&) = default;
  MetricSocket& operator=(MetricSocket&&) = delete;

  /// `reading`: whether more may be taken now.
  void collect(Interests& interests, bool reading);
  /// Answers for what has been kept since.
  void acknowledge(std::uint64_t committed);
  /// Takes what clients that have gone left unread.
  void drain();

 private:
  struct Connection {
    FileDescriptor socket;
    std::string input = {};
    std::string output = {};
    std::uint64_t lines = 0;
    std::uint64_t metrics = 0;
    std::uint64_t kept = 0;
    std::uint64_t acknowledged = 0;  // of those, as far as was answered
    std::deque<std::pair<std::uint64_t, std::uint64_t>> waiting =
        {};  // (number in the store, metrics till then)
    bool ended = false;
  };
  MetricSocket(FileDescriptor listener, Take take) : listener_(std::move(listener)), take_(std::move(take)) {}
  void accept();
  void read(Connection& connection);
  void take_line(Connection& connection, std::string_view line);
  static void answer(Connection& connection);
  static void write(Connection& connection);
  void forget_ended();

  FileDescriptor listener_;
  Take take_;
  std::list<Connection> connections_;
};

}  // namespace plimsoll::running
