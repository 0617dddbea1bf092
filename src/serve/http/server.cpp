#include "serve/http/server.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/http/connection.hpp"
#include "serve/http/hub.hpp"
#include "serve/http/listener.hpp"
#include "serve/http/loop.hpp"
#include "serve/http/peer_owner.hpp"

namespace plimsoll::serve {
namespace {

constexpr int kAcceptedAtOnce = 64;
constexpr std::size_t kRefusedAtOnce =
    256;  // connections beyond the limit that are told so; more are just closed
constexpr std::size_t kOtherFiles = 64;

/// How often deadlines are looked at: a quarter of the shortest.
std::chrono::milliseconds tick(const Limits& limits) {
  const auto shortest = std::min({limits.header_timeout, limits.idle_timeout, limits.body_stall_timeout,
                                  limits.body_timeout, limits.stall_timeout, limits.heartbeat});
  return std::clamp<std::chrono::milliseconds>(shortest / 4, std::chrono::milliseconds(5),
                                               std::chrono::milliseconds(250));
}

/// Whoever has a token may come in, as may who can open a Unix socket.
Status choose_owner_of(Options& options, int listener) {
  if (options.token || options.unix_socket || options.any_user) {
    options.owner_of = {};
  } else if (!options.owner_of) {
    auto owner = PeerOwner::open(listener);
    PLIMSOLL_TRY(owner);
    options.owner_of = [owner = *std::move(owner)](int accepted) mutable { return owner.of(accepted); };
  }
  return {};
}

}  // namespace

class Server::State {
 public:
  State(const Options& options, Listener listener, Handler handler, Admit admit)
      : port(listener.port),
        url(listener.url(options.unix_socket.value_or(""))),
        unix_socket(options.unix_socket),
        tick_(tick(options.limits)),
        // A browser reaches no Unix socket; with a token a foreign page lacks that.
        hub_(options, listener.is_loopback && !options.token ? listener.address : "", std::move(handler),
             std::move(admit), loop_),
        listener_(std::make_unique<Channel>(loop_, std::move(listener.socket))) {
    hub_.when_empty = [this] { note_empty(); };
    wait_for_clients();
    thread_ = std::jthread([this] { loop_.run(); });
  }

  void stop(std::chrono::milliseconds patience);
  [[nodiscard]] Statistics statistics() const {
    Statistics now = hub_.tally.read();
    now.requests_waiting = hub_.workers.waiting();
    return now;
  }

  const std::uint16_t port;
  const std::string url;
  const std::optional<std::filesystem::path> unix_socket;

 private:
  void wait_for_clients();
  void accept_clients();
  void take(FileDescriptor socket);
  void turn_away(FileDescriptor socket, Response refusal);
  [[nodiscard]] std::shared_ptr<Connection> add(FileDescriptor socket);
  [[nodiscard]] std::optional<Response> refuse_stranger(int accepted) const;
  bool make_room();
  bool look_at_the_clock();
  void start_the_clock();
  void begin_stop();
  void close_all();
  void note_empty();

  std::chrono::milliseconds tick_;
  Loop loop_;
  Hub hub_;
  std::unique_ptr<Channel> listener_;
  bool listener_rests_ = false;  // the process has no more descriptors
  bool ticks_ = false;

  std::mutex stopping_;  // one stop() at a time
  bool has_stopped_ = false;
  std::mutex mutex_;
  std::condition_variable emptied_;
  bool is_empty_ = false;  // stopping, and no connection is left
  std::jthread thread_;
};

void Server::State::wait_for_clients() {
  if (listener_) listener_->when_readable([this] { accept_clients(); });
}

void Server::State::accept_clients() {
  for (int i = 0; i < kAcceptedAtOnce && listener_; ++i) {
    FileDescriptor socket(::accept4(listener_->descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      take(std::move(socket));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      listener_rests_ = true;  // until the next tick: by then a connection may have ended
      return start_the_clock();
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;
    }
  }
  wait_for_clients();
}

void Server::State::take(FileDescriptor socket) {
  if (auto refusal = refuse_stranger(socket.get())) return turn_away(std::move(socket), *std::move(refusal));
  const std::size_t most = hub_.options.limits.connections,
                    taken = hub_.connections.size() - hub_.turned_away;
  const bool is_full = taken >= most && !make_room();
  Tally::add(is_full ? hub_.tally.connections_refused : hub_.tally.connections_taken);
  if (taken >= most + kRefusedAtOnce) return;
  if (const auto connection = add(std::move(socket)))
    is_full ? connection->refuse_for_want_of_room() : connection->start();
}

/// A stranger is told why, but takes nobody's place, be it by coming in crowds.
void Server::State::turn_away(FileDescriptor socket, Response refusal) {
  Tally::add(hub_.tally.strangers_refused);
  if (hub_.turned_away >= kRefusedAtOnce) return;
  if (const auto connection = add(std::move(socket))) connection->turn_away(std::move(refusal));
}

std::shared_ptr<Connection> Server::State::add(FileDescriptor socket) {
  std::shared_ptr<Connection> connection;
  try {
    connection = std::make_shared<Connection>(hub_, std::move(socket));
    hub_.connections.insert(connection);
  } catch (const std::exception&) {  // no memory, or the system watches no more sockets: the client is let go
    return nullptr;
  }
  hub_.tally.connections.store(hub_.connections.size(), std::memory_order_relaxed);
  start_the_clock();
  return connection;
}

std::optional<Response> Server::State::refuse_stranger(int accepted) const {
  if (!hub_.options.owner_of) return std::nullopt;
  const uid_t own = ::geteuid();
  try {
    return serve::refuse_stranger(hub_.options.owner_of(accepted), own);
  } catch (const std::exception&) {  // no memory: then nobody can tell
    return serve::refuse_stranger(std::nullopt, own);
  }
}

/// Lets go of the connection that can be spared most, so that clients that only wait hold up no others.
bool Server::State::make_room() {
  const auto now = Connection::Clock::now();
  std::shared_ptr<Connection> least;
  std::optional<Connection::Spare> spare;
  for (const auto& connection : hub_.connections)
    if (const auto its = connection->spare(now); its && (!spare || *its < *spare)) {
      spare = its;
      least = connection;
    }
  if (!least) return false;
  Tally::add(hub_.tally.connections_spared);
  least->close();
  return true;
}

void Server::State::start_the_clock() {
  if (!std::exchange(ticks_, true)) loop_.repeat(tick_, [this] { return look_at_the_clock(); });
}

bool Server::State::look_at_the_clock() {
  if (std::exchange(listener_rests_, false)) wait_for_clients();
  const auto now = Connection::Clock::now();
  const std::vector<std::shared_ptr<Connection>> all(hub_.connections.begin(), hub_.connections.end());
  for (const auto& connection : all) connection->look_at_the_clock(now);
  ticks_ = !hub_.connections.empty() || listener_rests_;
  return ticks_;
}

void Server::State::begin_stop() {
  hub_.stopping = true;
  listener_.reset();
  const std::vector<std::shared_ptr<Connection>> all(hub_.connections.begin(), hub_.connections.end());
  for (const auto& connection : all) connection->begin_stop();
  if (hub_.connections.empty()) note_empty();
}

void Server::State::close_all() {
  const std::vector<std::shared_ptr<Connection>> all(hub_.connections.begin(), hub_.connections.end());
  for (const auto& connection : all) connection->close();
}

void Server::State::note_empty() {
  if (!hub_.stopping) return;
  const std::scoped_lock lock(mutex_);
  is_empty_ = true;
  emptied_.notify_all();
}

void Server::State::stop(std::chrono::milliseconds patience) {
  const std::scoped_lock one(stopping_);
  if (std::exchange(has_stopped_, true)) return;
  if (unix_socket) (void)::unlink(unix_socket->c_str());
  loop_.post([this] { begin_stop(); });
  {
    std::unique_lock lock(mutex_);
    emptied_.wait_for(lock, patience, [this] { return is_empty_; });
  }
  loop_.post([this] {
    close_all();
    loop_.post([this] { loop_.stop(); });  // behind the waits that closing has ended
  });
  thread_.join();
  hub_.mailbox->close();
  hub_.workers.stop();
  hub_.files.stop();
}

Result<std::unique_ptr<Server>> Server::start(Options options, Handler handler, Admit admit) {
  if (options.token && options.token->empty()) return fail("the token is empty");
  if (!options.unix_socket && !options.token) {
    const auto loopback = is_loopback(options.address);
    PLIMSOLL_TRY(loopback);
    if (!*loopback)
      return std::unexpected(
          Error{fmt::format("{} can be reached from other machines, and no token is set", options.address),
                {},
                "give a token, or listen at 127.0.0.1"});
  }
  options.threads = std::max(options.threads, 1U);
  auto listener =
      options.unix_socket ? listen_at(*options.unix_socket) : listen_at(options.address, options.port);
  PLIMSOLL_TRY(listener);
  PLIMSOLL_TRY(choose_owner_of(options, listener->socket.get()));
  try {
    auto state = std::make_unique<State>(options, *std::move(listener), std::move(handler), std::move(admit));
    return std::unique_ptr<Server>(new Server(std::move(state)));
  } catch (const std::exception& error) {  // no more threads or descriptors
    return std::unexpected(
        Error{fmt::format("cannot start the server: {}", error.what()), {}, {}, Error::Kind::machine_lacks});
  }
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() {
  stop(std::chrono::milliseconds(0));
}

std::uint16_t Server::port() const {
  return state_->port;
}
const std::string& Server::url() const {
  return state_->url;
}
void Server::stop(std::chrono::milliseconds patience) {
  state_->stop(patience);
}

Statistics Server::statistics() const {
  return state_->statistics();
}

std::size_t allow_connections(std::size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections;
  const rlim_t wanted = connections + kOtherFiles;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections;
  }
  return std::min<std::size_t>(connections, limit.rlim_cur > kOtherFiles ? limit.rlim_cur - kOtherFiles : 0);
}

}  // namespace plimsoll::serve
