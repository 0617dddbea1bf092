#include "run/metric_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/socket.h>

#include "base/printable.hpp"
#include "run/unix_socket.hpp"

namespace plimsoll::running {
namespace {

constexpr std::size_t kMostConnections = 256;
constexpr std::size_t kLongestMetricLine = std::size_t{16} << 10;
constexpr std::size_t kMostOutput = std::size_t{64} << 10;
constexpr std::size_t kSocketChunk = std::size_t{64} << 10;

}  // namespace

Result<MetricSocket> MetricSocket::listen(const std::filesystem::path& path, Take take) {
  Result<FileDescriptor> listener = listen_at(path);
  if (!listener) return std::unexpected(std::move(listener).error());
  return MetricSocket(*std::move(listener), std::move(take));
}

void MetricSocket::collect(Interests& interests, bool reading) {
  forget_ended();
  interests.push_back({listener_.get(), POLLIN, [this] { accept(); }});
  for (Connection& connection : connections_) {
    // One that does not read its answers may go on talking: an answer is a number that a later one replaces.
    const auto events =
        static_cast<short>((reading ? POLLIN : 0) | (connection.output.empty() ? 0 : POLLOUT));
    if (events == 0) continue;
    interests.push_back({connection.socket.get(), events, [this, &connection, reading] {
                           if (!connection.output.empty()) write(connection);
                           if (reading) read(connection);
                         }});
  }
}

void MetricSocket::accept() {
  for (std::size_t i = 0; i < kMostConnections; ++i) {
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    // Beyond the limit a client learns at once that nobody listens, instead of waiting for ever.
    if (connections_.size() < kMostConnections) connections_.push_back({std::move(socket)});
  }
}

void MetricSocket::read(Connection& connection) {
  std::array<char, kSocketChunk> chunk;  // filled by recv
  const ssize_t count = ::recv(connection.socket.get(), chunk.data(), chunk.size(), 0);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    // What was sent is kept, though nobody waits for the answer; a line without its end was not sent.
    connection.ended = true;
    return;
  }
  connection.input.append(chunk.data(), static_cast<std::size_t>(count));
  std::string_view rest = connection.input;
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    take_line(connection, rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  if (rest.size() > kLongestMetricLine) {
    connection.ended = true;  // no such line is of ours
    return;
  }
  connection.input.erase(0, connection.input.size() - rest.size());
  if (!connection.output.empty()) write(connection);
}

void MetricSocket::take_line(Connection& connection, std::string_view line) {
  ++connection.lines;
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  const Result<Statement> statement = parse_statement(line);
  if (!statement) {
    if (connection.output.size() < kMostOutput)
      connection.output += fmt::format("error {}: {}\n", connection.lines, statement.error().message);
    return;
  }
  const std::uint64_t number = take_(*statement);
  if (!std::holds_alternative<MetricLine>(*statement)) return;
  ++connection.metrics;
  // One entry per commit is enough; the numbers of one chunk are nearly always kept together.
  if (!connection.waiting.empty() && connection.waiting.size() > 4096)
    connection.waiting.back() = {number, connection.metrics, connection.lines};
  else
    connection.waiting.push_back({number, connection.metrics, connection.lines});
}

void MetricSocket::acknowledge(std::uint64_t committed) {
  for (Connection& connection : connections_) {
    std::uint64_t kept = connection.kept;
    while (!connection.waiting.empty() && connection.waiting.front().number <= committed) {
      kept = connection.waiting.front().metrics;
      connection.waiting.pop_front();
    }
    connection.kept = kept;
    answer(connection);
  }
}

void MetricSocket::refuse(std::string_view why) {
  for (Connection& connection : connections_) {
    if (connection.refused || connection.waiting.empty()) continue;
    connection.refused = true;
    connection.output += fmt::format("error {}: {}\n", connection.waiting.front().line, printable(why));
    write(connection);
  }
}

/// The latest number, once the one before is on its way.
void MetricSocket::answer(Connection& connection) {
  if (!connection.output.empty() || connection.kept == connection.acknowledged) return;
  connection.acknowledged = connection.kept;
  connection.output = fmt::format("ok {}\n", connection.kept);
  write(connection);
}

void MetricSocket::write(Connection& connection) {
  const ssize_t count = ::send(connection.socket.get(), connection.output.data(), connection.output.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) {
    if (errno != EINTR && errno != EAGAIN)
      connection.output.clear();  // it no longer listens; it may still talk
    return;
  }
  connection.output.erase(0, static_cast<std::size_t>(count));
  answer(connection);
}

void MetricSocket::drain() {
  constexpr int kMostRounds = 10'000;  // of one that is left running, no more than this
  bool more = true;
  for (int round = 0; more && round < kMostRounds; ++round) {
    const std::size_t before = connections_.size();
    accept();
    more = connections_.size() > before;
    for (Connection& connection : connections_) {
      const std::uint64_t lines = connection.lines;
      if (!connection.ended) read(connection);
      more = more || connection.lines > lines;
    }
  }
}

void MetricSocket::forget_ended() {
  connections_.remove_if([](const Connection& connection) { return connection.ended; });
}

}  // namespace plimsoll::running
