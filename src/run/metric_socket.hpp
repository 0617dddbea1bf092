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
/// prefix. "ok N" comes back once the first N metrics of the connection are in the store; a line that cannot
/// be understood, and the first metric that the store never took, gets "error LINE: why".
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
  /// Says to everyone who waits that the rest will not be acknowledged.
  void refuse(std::string_view why);
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
    struct Waiting {
      std::uint64_t number = 0;   // in the store
      std::uint64_t metrics = 0;  // of this connection till then
      std::uint64_t line = 0;
    };
    std::deque<Waiting> waiting = {};
    bool refused = false;
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
