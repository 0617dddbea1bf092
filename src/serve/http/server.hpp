#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "serve/http/response.hpp"
#include "serve/http/statistics.hpp"

namespace plimsoll::serve {

struct Limits {
  std::size_t target_bytes = std::size_t{64} << 10;
  std::size_t header_bytes = std::size_t{16} << 10;  ///< of all header lines together
  /// One more is answered 503, unless another can be spared for it (spare_time).
  std::size_t connections = 4096;
  std::size_t queued_requests = 1024;  ///< waiting for a worker; one more is answered 503
  /// Of bodies in memory, of all connections together; the one that goes beyond is answered 503.
  std::size_t bodies_bytes = std::size_t{512} << 20;
  /// Of large answers that clients have not taken yet, together; one more is answered 503, unless it is the
  /// only one.
  std::size_t answers_bytes = std::size_t{512} << 20;
  std::chrono::milliseconds header_timeout = std::chrono::seconds(10);
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(75);  ///< between requests
  /// The longest wait for more of a body, and the time after which it must keep to the least rate on average.
  std::chrono::milliseconds body_stall_timeout = std::chrono::seconds(20);
  std::size_t least_body_bytes_per_second = std::size_t{16} << 10;
  /// For the whole of a body in memory, at whatever rate it comes.
  std::chrono::milliseconds body_timeout = std::chrono::minutes(5);
  /// The longest wait for the client to take more of an answer; and the time after which it must keep to the
  /// least rate on average.
  std::chrono::milliseconds stall_timeout = std::chrono::seconds(60);
  std::size_t least_bytes_per_second = 1024;
  /// Where all connections are taken, one more takes the place of the one that has waited longest for its
  /// next request, else of the slowest whose request has been coming for this time, unless that comes at the
  /// brisk rate.
  std::chrono::milliseconds spare_time = std::chrono::seconds(2);
  std::size_t brisk_bytes_per_second = std::size_t{64} << 10;
  std::chrono::milliseconds heartbeat = std::chrono::seconds(15);  ///< of server-sent events
};

/// What becomes of a request, said from its head before any of its body is read.
struct Admission {
  std::uint64_t most_body_bytes = std::uint64_t{1} << 20;  ///< more: 413
  /// The body goes to this new file, not to memory. Its folder is there; the file must not be.
  std::optional<std::filesystem::path> body_file = {};
  /// The handler never waits for a disk, a lock or a computation of more than some microseconds: it runs
  /// without a change of threads, while all other clients wait.
  bool quick = false;
  std::optional<Response> refusal = {};  ///< this is the answer; the body is not read
};

/// Must be quick: it runs on the thread that serves all connections. The request's token, host and origin
/// have been checked by then. An absent function admits all with the defaults.
using Admit = std::function<Admission(const Request& head)>;

struct Options {
  std::string address = "127.0.0.1";  ///< IPv4 or IPv6, or "localhost"; not loopback: only with a token
  std::uint16_t port = 0;             ///< 0: any that is free
  std::optional<std::filesystem::path> unix_socket = {};  ///< in place of address and port; mode 0600
  std::optional<std::string> token = {};                  ///< every request must bring it (token.hpp)
  std::vector<std::string> open_paths = {};               ///< but those that read one of these
  /// Decides in place of `token` and `open_paths` who may ask; quick, as Admit. `token` is still to be set
  /// where it asks for one.
  std::function<std::optional<Response>(const Request& head)> gate = {};
  /// On loopback without a token: answer every user of this machine, not this process's and root alone.
  bool any_user = false;
  /// Which user is at the other end of a connection, for tests; else the kernel is asked (peer_owner.hpp).
  std::function<std::optional<uid_t>(int accepted)> owner_of = {};
  unsigned threads = 4;  ///< that run handlers
  Limits limits = {};
};

/// An HTTP/1.1 server. One thread reads and writes for all clients, so that a slow one holds up nobody; a few
/// others run the handlers.
class Server {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(Options options, Handler handler,
                                                             Admit admit = {});
  ~Server();  ///< stop(0 s)
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const;  ///< 0 for a Unix socket
  /// "http://127.0.0.1:5000", "http://[::1]:5000"; "http+unix://%2Frun%2Fplimsoll.sock" for a Unix socket.
  [[nodiscard]] const std::string& url() const;
  [[nodiscard]] Statistics statistics() const;

  /// Takes no more requests; those under way are answered, then their connections closed, as are idle ones
  /// and streams of events at once. What is not done by then is cut off. Returns when no handler runs any
  /// more, so not to be called from one. May be called again.
  void stop(std::chrono::milliseconds patience);

 private:
  class State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Lets this process have as many open files as `connections` need, as far as it may; gives the number of
/// connections that are then possible.
std::size_t allow_connections(std::size_t connections);

}  // namespace plimsoll::serve
