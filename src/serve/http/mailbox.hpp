#pragma once
#include <functional>
#include <mutex>
#include <vector>

#include "serve/http/loop.hpp"

namespace plimsoll::serve {

/// The way from any thread to the server's loop, open for as long as the server is: what is posted later is
/// dropped. Letters that come close together cost the loop one waking.
class Mailbox {
 public:
  using Letter = std::move_only_function<void()>;
  explicit Mailbox(Loop& loop) : loop_(&loop) {}

  void post(Letter letter) {
    const std::scoped_lock lock(mutex_);
    if (loop_ == nullptr) return;
    letters_.push_back(std::move(letter));
    if (letters_.size() == 1) loop_->post([this] { deliver(); });
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    loop_ = nullptr;
    letters_.clear();
  }

 private:
  void deliver() {
    std::vector<Letter> letters;
    {
      const std::scoped_lock lock(mutex_);
      letters.swap(letters_);
    }
    for (Letter& letter : letters) letter();
  }

  std::mutex mutex_;
  Loop* loop_;
  std::vector<Letter> letters_;
};

}  // namespace plimsoll::serve
