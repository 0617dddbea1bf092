#pragma once
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "serve/http/response.hpp"
#include "serve/http/workers.hpp"

namespace plimsoll::serve::dashboard {

/// What the page asks of one of the program's own commands.
struct Order {
  std::vector<std::string> words;  ///< "beside", "--workloads=workloads.json", …; --json is added
  std::vector<std::pair<std::string, std::string>> files = {};  ///< names and contents, where it runs
  std::string page = {};  ///< the name of a page that it writes, which is the answer in place of its JSON
  bool at_home = false;   ///< it runs in the user's home, where commands that it takes will run, too
};

struct CommandsOptions {
  std::filesystem::path program = {};  ///< empty: there is none, and every order is answered 501
  std::string store = {};              ///< as the server itself was given it
  std::filesystem::path artifacts = {};
  unsigned at_once = 2;
  std::size_t most_waiting = 16;
  std::chrono::seconds longest = std::chrono::seconds(60);       ///< for a command
  std::chrono::seconds longest_wait = std::chrono::seconds(30);  ///< for its turn
};

/// Runs the program's own commands, a few at a time, each in a process and an empty folder of its own, with
/// bounded time and memory: what goes wrong there harms nobody else. Words go to it as they are, without a
/// shell.
class Commands {
 public:
  explicit Commands(CommandsOptions options);
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  /// Answers later. 200 with the document; one that says no has "answer": false in it.
  void run(Order order, Answer answer);

 private:
  [[nodiscard]] Response carry_out(const Order& order) const;

  CommandsOptions options_;
  std::atomic<bool> stopping_ = false;
  Workers workers_;  // last: its tasks use what stands above
};

}  // namespace plimsoll::serve::dashboard
