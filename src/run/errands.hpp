#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::running {

/// Work that may take long, or never end, done beside a loop that must not wait. A lane is a thread that does
/// its errands one after the other; what follows from an errand is done by the loop, when it calls deliver().
/// An errand owns what it uses: where a lane hangs when this object ends, it is left to the end of the
/// process.
class Errands {
 public:
  using Then = std::function<void()>;  ///< in the loop
  using Work = std::function<Then()>;  ///< in the lane

  Errands();
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  /// `what`: for a person, where it does not come to its end.
  void send(std::string_view lane, std::string what, Work work);
  /// Readable when there is something to deliver.
  [[nodiscard]] int descriptor() const;
  void deliver();
  /// What is under way or waits for its turn, in the order in which it was sent.
  [[nodiscard]] std::vector<std::string> under_way() const;

 private:
  struct State;
  struct Lane;
  std::shared_ptr<State> state_;
  std::vector<std::shared_ptr<Lane>> lanes_;
};

}  // namespace plimsoll::running
