// The HTTP server alone: requests per second and latency of a trivial handler, with 1 and 64 connections that
// are kept alive, handled where they are read (quick) and by a worker thread. Client and server share the
// machine.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/file_descriptor.hpp"
#include "serve/http/server.hpp"

namespace {

using namespace plimsoll;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kMeasured(3);
constexpr std::string_view kBody =
    R"({"run_id":"0123456789abcdef0123456789abcdef","key":"loss","value":0.5,"step":1})";

struct Client {
  FileDescriptor socket;
  std::size_t answered_bytes = 0;
  Clock::time_point asked = {};
};

[[noreturn]] void give_up(std::string_view what) {
  fmt::print(stderr, "http_bench: {}\n", what);
  std::exit(1);
}

FileDescriptor connect_to(std::uint16_t port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    give_up("cannot connect");
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

std::string request_text() {
  return fmt::format(
      "POST /api/2.0/mlflow/runs/log-metric HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: "
      "mlflow-python-client/3.0\r\n"
      "Accept-Encoding: gzip, deflate\r\nAccept: */*\r\nConnection: keep-alive\r\nContent-Type: "
      "application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      kBody.size(), kBody);
}

void ask(Client& client, const std::string& request) {
  client.answered_bytes = 0;
  client.asked = Clock::now();
  if (::send(client.socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    give_up("cannot send");
}

/// Bytes of one answer, which is the same every time.
std::size_t answer_size(std::uint16_t port, const std::string& request) {
  Client client{connect_to(port)};
  ask(client, request);
  std::string text;
  std::array<char, 4096> chunk{};
  while (!text.ends_with("{}")) {
    const ssize_t count = ::recv(client.socket.get(), chunk.data(), chunk.size(), 0);
    if (count <= 0) give_up("no answer");
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
  if (!text.starts_with("HTTP/1.1 200")) give_up("not answered 200");
  return text.size();
}

void measure(std::string_view title, std::uint16_t port, std::size_t connections) {
  const std::string request = request_text();
  const std::size_t expected = answer_size(port, request);
  const FileDescriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<Client> clients(connections);
  std::vector<double> microseconds;
  for (Client& client : clients) {
    client.socket = connect_to(port);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &client}};
    (void)::epoll_ctl(poll.get(), EPOLL_CTL_ADD, client.socket.get(), &event);
    ask(client, request);
  }
  const auto start = Clock::now();
  std::array<epoll_event, 64> events{};
  std::array<char, 4096> chunk{};
  while (Clock::now() - start < kMeasured) {
    const int ready = ::epoll_wait(poll.get(), events.data(), events.size(), 1000);
    for (int i = 0; i < ready; ++i) {
      Client& client = *static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
      const ssize_t count = ::recv(client.socket.get(), chunk.data(), chunk.size(), 0);
      if (count <= 0) give_up("the server hung up");
      client.answered_bytes += static_cast<std::size_t>(count);
      if (client.answered_bytes < expected) continue;
      microseconds.push_back(std::chrono::duration<double, std::micro>(Clock::now() - client.asked).count());
      ask(client, request);
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::ranges::sort(microseconds);
  const auto quantile = [&](double q) {
    return microseconds[static_cast<std::size_t>(q * static_cast<double>(microseconds.size() - 1))];
  };
  fmt::print("{:<28} {:>11} {:>14.0f} {:>11.0f} {:>11.0f}\n", title, connections,
             static_cast<double>(microseconds.size()) / seconds, quantile(0.5), quantile(0.99));
}

void measure_all(std::string_view title, bool quick) {
  const auto server = serve::Server::start(
      {}, [](serve::Request, serve::Answer answer) { answer({.body = "{}"}); },
      [quick](const serve::Request&) { return serve::Admission{.quick = quick}; });
  if (!server) give_up(server.error().text());
  for (const std::size_t connections : {std::size_t{1}, std::size_t{64}})
    measure(title, (*server)->port(), connections);
}

}  // namespace

int main() {
  fmt::print("{:<28} {:>11} {:>14} {:>11} {:>11}\n", "handler", "connections", "requests/s", "median us",
             "99 % us");
  measure_all("where it is read (quick)", true);
  measure_all("a worker thread", false);
}
