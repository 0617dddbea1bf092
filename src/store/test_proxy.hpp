#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"

namespace plimsoll::store::test {

/// Stands between a store and its server: what goes through can be held up, as by a network or a server that
/// hangs, or cut.
class Proxy {
 public:
  /// Both are directories with PostgreSQL's socket in them.
  Proxy(const std::filesystem::path& here, const std::filesystem::path& server)
      : server_(server / ".s.PGSQL.5432"), listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = address_of(here / ".s.PGSQL.5432");
    listens_ = ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
               ::listen(listener_.get(), 64) == 0;
    thread_ = std::jthread([this](const std::stop_token& stop) { carry(stop); });
  }

  [[nodiscard]] bool listens() const { return listens_; }
  /// When it returns, nothing goes through any more.
  void hold() { change(true, false); }
  void let_go() { change(false, false); }
  /// All connections end, with what was held up; new ones are taken.
  void cut() { change(false, true); }
  /// How often something came from a client while it was held up.
  [[nodiscard]] int waiting() const { return waiting_; }

 private:
  struct Pair {
    FileDescriptor client, server;
    bool seen = false;  ///< that something waits
  };

  static sockaddr_un address_of(const std::filesystem::path& path) {
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    path.string().copy(out.sun_path, sizeof out.sun_path - 1);
    return out;
  }

  void change(bool held, bool cut) {
    std::unique_lock lock(mutex_);
    held_ = held;
    cut_ = cut;
    const int turn = turns_;
    turned_.wait(lock, [&] { return turns_ >= turn + 2; });
  }

  void carry(const std::stop_token& stop) {
    std::vector<Pair> pairs;
    while (!stop.stop_requested()) {
      bool held = false;
      {
        const std::scoped_lock lock(mutex_);
        ++turns_;
        held = held_;
        if (std::exchange(cut_, false)) pairs.clear();
      }
      turned_.notify_all();
      std::vector<pollfd> ready{{listener_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs) {
        ready.push_back({pair.client.get(), POLLIN, 0});
        ready.push_back({pair.server.get(), POLLIN, 0});
      }
      constexpr int kTurn = 5;  // milliseconds
      ::poll(ready.data(), ready.size(), kTurn);
      std::vector<Pair> kept;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const bool client = ready[2 * i + 1].revents != 0, server = ready[2 * i + 2].revents != 0;
        if (held && client && !std::exchange(pairs[i].seen, true)) ++waiting_;
        if (!held) pairs[i].seen = false;
        const bool alive = held || ((!client || pass(pairs[i].client.get(), pairs[i].server.get())) &&
                                    (!server || pass(pairs[i].server.get(), pairs[i].client.get())));
        if (alive) kept.push_back(std::move(pairs[i]));
      }
      pairs = std::move(kept);
      if (ready[0].revents != 0) accept_one(pairs);
      if (held) std::this_thread::sleep_for(std::chrono::milliseconds(kTurn));
    }
  }

  void accept_one(std::vector<Pair>& pairs) {
    Pair pair{FileDescriptor(::accept(listener_.get(), nullptr, nullptr)),
              FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    const sockaddr_un address = address_of(server_);
    if (pair.client &&
        ::connect(pair.server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      pairs.push_back(std::move(pair));
  }

  static bool pass(int from, int to) {
    std::array<char, std::size_t{64} << 10> chunk;  // filled by recv
    const ssize_t count = ::recv(from, chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    for (ssize_t sent = 0; sent < count;) {
      const ssize_t part =
          ::send(to, chunk.data() + sent, static_cast<std::size_t>(count - sent), MSG_NOSIGNAL);
      if (part < 0) return false;
      sent += part;
    }
    return count > 0;
  }

  std::filesystem::path server_;
  FileDescriptor listener_;
  bool listens_ = false;
  std::mutex mutex_;
  std::condition_variable turned_;
  bool held_ = false, cut_ = false;
  int turns_ = 0;
  std::atomic<int> waiting_ = 0;
  std::jthread thread_;
};

}  // namespace plimsoll::store::test
