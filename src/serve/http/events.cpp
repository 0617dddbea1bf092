#include "serve/http/events.hpp"

#include <utility>

#include <fmt/format.h>

namespace plimsoll::serve {
namespace {

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

std::string on_the_wire(std::string_view name, std::string_view data, std::string_view id) {
  std::string text;
  text.reserve(name.size() + data.size() + id.size() + 32);
  if (!id.empty()) text.append("id: ").append(first_line(id)).append("\n");
  if (!name.empty()) text.append("event: ").append(first_line(name)).append("\n");
  for (bool more = true; more;) {
    const std::string_view line = first_line(data);
    text.append("data: ").append(line).append("\n");
    more = line.size() < data.size();
    const std::string_view rest = data.substr(line.size());
    data.remove_prefix(line.size() + (rest.starts_with("\r\n") ? 2 : rest.empty() ? 0 : 1));
  }
  return text += "\n";
}

}  // namespace

EventQueue::Event EventQueue::event(std::string_view name, std::string_view data, std::string_view id) {
  return std::make_shared<const std::string>(on_the_wire(name, data, id));
}

bool EventQueue::send(std::string_view name, std::string_view data, std::string_view id) {
  return send(event(name, data, id));
}

bool EventQueue::send(Event event) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return false;
  const bool was_empty = events_.empty() && lost_ == 0;
  bytes_ += event->size();
  events_.push_back(std::move(event));
  // One that is larger than all may be is still told, alone.
  for (; bytes_ > most_bytes_ && events_.size() > 1; ++lost_) {
    bytes_ -= events_.front()->size();
    events_.pop_front();
  }
  if (was_empty && wake_) wake_();
  return true;
}

void EventQueue::close() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(closed_, true)) return;
  if (wake_) wake_();
}

bool EventQueue::closed() const {
  const std::scoped_lock lock(mutex_);
  return closed_;
}

void EventQueue::on_news(std::function<void()> wake) {
  const std::scoped_lock lock(mutex_);
  wake_ = std::move(wake);
  if (wake_ && (closed_ || !events_.empty() || lost_ > 0)) wake_();
}

EventQueue::Taken EventQueue::take() {
  const std::scoped_lock lock(mutex_);
  Taken taken{.is_last = closed_};
  if (lost_ > 0) taken.text = on_the_wire("lost", fmt::format("{}", std::exchange(lost_, 0)), {});
  for (const Event& event : events_) taken.text += *event;
  events_.clear();
  bytes_ = 0;
  return taken;
}

void EventQueue::abandon() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  wake_ = nullptr;
  events_.clear();
  bytes_ = 0;
  lost_ = 0;
}

}  // namespace plimsoll::serve
