#pragma once
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "serve/http/loop.hpp"
#include "serve/http/mailbox.hpp"
#include "serve/http/server.hpp"
#include "serve/http/tally.hpp"
#include "serve/http/workers.hpp"

namespace plimsoll::serve {

class Connection;

/// What the connections of a server share. It belongs to the loop's thread, but for the tally, the mailbox
/// and the workers.
class Hub {
 public:
  Hub(Options chosen_options, std::string own_host, Handler own_handler, Admit admit, Loop& own_loop);
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;
  ~Hub();

  /// Who may ask, then what the server's user says.
  [[nodiscard]] Admission admission(const Request& head) const;
  /// As headers want it; written anew once a second.
  [[nodiscard]] std::string_view date();
  void forget(const std::shared_ptr<Connection>& connection);

  Options options;
  Handler handler;
  Loop& loop;
  std::shared_ptr<Mailbox> mailbox;  // shared with answers that are given after the server has gone
  Tally tally;
  std::vector<char> scratch;  // what was just received: no connection needs room of its own while it waits
  std::uint64_t bodies_bytes = 0;   // held in memory by requests under way
  std::uint64_t answers_bytes = 0;  // of large answers that are being sent
  std::size_t turned_away = 0;      // connections of other users, which are told so and take no place
  bool stopping = false;
  std::unordered_set<std::shared_ptr<Connection>> connections;  // each is also held by what it waits for
  std::function<void()> when_empty;

  // Last: their tasks use what stands above. Disks may be slow; they hold up neither the loop nor handlers.
  Workers workers;
  Workers files;

 private:
  [[nodiscard]] bool is_open(const Request& head) const;

  Admit admit_;
  std::string own_host_;  // empty: any host will do
  std::time_t date_of_ = 0;
  std::string date_;
};

}  // namespace plimsoll::serve
