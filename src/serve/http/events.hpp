#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace plimsoll::serve {

/// Server-sent events on their way to one client. Whoever has news calls send() from any thread and never
/// waits: a client that reads too slowly loses the oldest, and is told how many by an event named "lost";
/// the newest is told, however large it is.
class EventQueue {
 public:
  explicit EventQueue(std::size_t most_bytes = std::size_t{256} << 10) : most_bytes_(most_bytes) {}
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  /// False where the client has gone or the queue was closed: no more news are wanted. `data` may have
  /// several lines; `name` and `id` have none, or are cut there.
  bool send(std::string_view name, std::string_view data, std::string_view id = {});
  /// One as it goes over the wire, to be sent to many.
  using Event = std::shared_ptr<const std::string>;
  [[nodiscard]] static Event event(std::string_view name, std::string_view data, std::string_view id = {});
  bool send(Event event);
  /// What is in the queue is still sent, then the connection ends.
  void close();
  [[nodiscard]] bool closed() const;

  /// For the server: calls `wake`, on the thread that sends or closes, when there is something to take.
  void on_news(std::function<void()> wake);
  struct Taken {
    std::string text = {};  ///< all that waits, as it goes over the wire
    bool is_last = false;   ///< the queue is closed: nothing will follow
    bool operator==(const Taken&) const = default;
  };
  [[nodiscard]] Taken take();  ///< for the server
  /// For the server: the client has gone.
  void abandon();

 private:
  mutable std::mutex mutex_;
  std::deque<Event> events_;
  std::size_t bytes_ = 0;
  std::size_t most_bytes_;
  std::uint64_t lost_ = 0;
  bool closed_ = false;
  std::function<void()> wake_;
};

}  // namespace plimsoll::serve
