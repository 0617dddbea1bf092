#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "run/outbox.hpp"

namespace plimsoll::running {

/// What a store refuses, in sentences for the person, each said once as long as it holds.
class StoreTroubles {
 public:
  StoreTroubles(std::size_t most_held, std::chrono::milliseconds patience)
      : most_held_(most_held), patience_(patience) {}

  /// How a writing went; `held`: something is still held back. True where there is something to tell.
  bool note(const Status& written, bool held);
  /// Metrics that were refused or given up; what is to be written into each run's record of it.
  struct ForRecord {
    std::string run;
    std::string text;
    bool lost = false;  ///< points were given up
  };
  [[nodiscard]] std::vector<ForRecord> note(const std::vector<Outbox::Refusal>& refusals);
  [[nodiscard]] std::vector<std::string> take() { return std::exchange(sentences_, {}); }

 private:
  void say(const std::string& kind, std::string sentence);

  std::size_t most_held_;
  std::chrono::milliseconds patience_;
  std::set<std::string> said_;
  std::vector<std::string> sentences_;
  std::size_t told_ = 0;  // sentences in all
  bool troubled_ = false;
};

}  // namespace plimsoll::running
