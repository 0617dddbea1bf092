#pragma once
#include <algorithm>
#include <utility>
#include <vector>

namespace plimsoll {

/// A heap: the largest is on top. As the standard's priority_queue, whose header is called like a room of
/// this project, which who checks the rooms cannot tell apart.
template <class Value>
class LargestFirst {
 public:
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] const Value& top() const { return values_.front(); }
  void push(Value value) {
    values_.push_back(std::move(value));
    std::push_heap(values_.begin(), values_.end());
  }
  void pop() {
    std::pop_heap(values_.begin(), values_.end());
    values_.pop_back();
  }

 private:
  std::vector<Value> values_;
};

}  // namespace plimsoll
