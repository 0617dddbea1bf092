#include "queue/talk.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/supervision.hpp"
#include "run/unix_socket.hpp"

namespace plimsoll::queue {
namespace {

constexpr std::size_t kMostClients = 512, kMostOfOneUser = 64;
constexpr std::size_t kMostUnread = std::size_t{64} << 20;
constexpr std::size_t kAtOnce = std::size_t{64} << 10;

}  // namespace

Result<Door> Door::open(const std::filesystem::path& path, bool everybody) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);  // of one that was killed: its lock is ours
  auto listener = running::listen_at(path);
  PLIMSOLL_TRY(listener);
  if (everybody && ::chmod(path.c_str(), 0666) != 0)
    return std::unexpected(
        Error{"cannot open it to all users", path.string(), {}, Error::Kind::machine_lacks});
  return Door(*std::move(listener), everybody);
}

void Door::collect(running::Interests& interests) {
  std::erase_if(clients_, [](const Client& client) { return client.gone; });
  interests.push_back({listener_.get(), POLLIN, [this] { accept_all(); }});
  for (Client& client : clients_) {
    const auto events = static_cast<short>(POLLIN | (client.output.empty() ? 0 : POLLOUT));
    interests.push_back({client.socket.get(), events, [this, &client] {
                           if (!client.output.empty()) send(client);
                           if (!client.gone) receive(client);
                         }});
  }
}

void Door::accept_all() {
  while (true) {
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) continue;
    if (!everybody_ && peer.uid != ::geteuid() && peer.uid != 0) continue;
    const auto of_user = std::ranges::count(clients_, peer.uid, &Client::user);
    if (clients_.size() >= kMostClients || of_user >= static_cast<std::ptrdiff_t>(kMostOfOneUser)) continue;
    clients_.push_back({.number = ++last_, .user = peer.uid, .group = peer.gid, .socket = std::move(socket)});
  }
}

void Door::receive(Client& client) {
  std::array<char, kAtOnce> bytes;  // filled by recv
  const ssize_t count = ::recv(client.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    client.gone = true;
    return;
  }
  const std::size_t looked = client.input.size();
  client.input.append(bytes.data(), static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (std::size_t end = client.input.find('\n', looked); end != std::string::npos;
       end = client.input.find('\n', begin)) {
    auto message = running::read_message(std::string_view(client.input).substr(begin, end - begin));
    begin = end + 1;
    if (!message) {
      answer(client.number, failure_json(message.error()));
      continue;
    }
    asked_.push_back({client.number, client.user, client.group, *std::move(message)});
  }
  client.input.erase(0, begin);
  std::size_t of_user = 0;
  for (const Client& one : clients_)
    if (one.user == client.user) of_user += one.input.size();
  if (of_user > kLongestRequest) client.gone = true;
}

void Door::send(Client& client) {
  const ssize_t count =
      ::send(client.socket.get(), client.output.data(), client.output.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count < 0) {
    client.gone = true;
    return;
  }
  client.output.erase(0, static_cast<std::size_t>(count));
}

void Door::answer(std::int64_t number, const job::Json& message) {
  const auto client = std::ranges::find(clients_, number, &Client::number);
  if (client == clients_.end() || client->gone) return;
  client->output += running::line_of(message);
  if (client->output.size() > kMostUnread) client->gone = true;
  if (!client->gone) send(*client);
}

Result<std::optional<job::Json>> ask(const std::filesystem::path& socket, const job::Json& message,
                                     std::optional<Seconds> patience) {
  const auto connected = running::connect_to(socket);
  if (!connected && connected.error().kind == Error::Kind::not_found) return std::nullopt;
  PLIMSOLL_TRY(connected);
  // Whoever listens there learns what is submitted, the environment too.
  if (!running::is_of_this_user(connected->get()))
    return std::unexpected(Error{"who listens there is neither this user nor root", socket.string()});
  if (patience) {
    const auto whole = static_cast<time_t>(patience->value());
    const timeval limit{
        .tv_sec = whole,
        .tv_usec = static_cast<suseconds_t>((patience->value() - static_cast<double>(whole)) * 1e6)};
    ::setsockopt(connected->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  PLIMSOLL_TRY(running::send_all(connected->get(), running::line_of(message)));
  std::string text;
  std::array<char, kAtOnce> bytes;  // filled by recv
  while (!text.ends_with('\n')) {
    const ssize_t count = ::recv(connected->get(), bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return std::unexpected(Error{"the queue's daemon has gone, or does not talk to this user",
                                   socket.string(),
                                   {},
                                   Error::Kind::unavailable});
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  text.pop_back();
  auto answer = running::read_message(text);
  PLIMSOLL_TRY(answer);
  if (running::type_of(*answer) != "failed") return *std::move(answer);
  const auto error = answer->find("error");
  return std::unexpected(error == answer->end() ? Error{"it failed"} : running::read_error(*error));
}

job::Json failure_json(const Error& error) {
  return {{"type", "failed"}, {"error", running::error_json(error)}};
}

}  // namespace plimsoll::queue
