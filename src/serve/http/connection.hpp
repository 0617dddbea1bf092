#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/file_descriptor.hpp"
#include "serve/http/hub.hpp"
#include "serve/http/loop.hpp"
#include "serve/http/request_reader.hpp"
#include "serve/http/response.hpp"
#include "serve/http/response_head.hpp"
#include "serve/http/upload.hpp"

namespace plimsoll::serve {

/// One client: reads a request, has it answered, writes the answer, and again; while an answer is awaited or
/// written nothing more is read. All of it runs on the loop's thread, and nothing waits.
///
/// Shared, as the hub's set and each wait hold it: it ends when it is closed and no wait is left.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  Connection(Hub& hub, FileDescriptor socket);

  void start();
  void refuse_for_want_of_room();  ///< instead of start()
  /// Instead of start(): nothing that it sends is looked at.
  void turn_away(Response response);
  void look_at_the_clock(Time now);
  void begin_stop();  ///< ends now, or after the request that is under way
  /// How little is lost with it, where a newcomer needs its place; nothing where it is being answered, or
  /// sends briskly. The idle ones go first, the longest idle before the others; then the slowest.
  struct Spare {
    bool is_slow = false;
    double rank = 0;  ///< less goes first
    friend auto operator<=>(const Spare&, const Spare&) = default;
  };
  [[nodiscard]] std::optional<Spare> spare(Time now) const;
  void close();

 private:
  enum class Phase {
    head,       // idle, or a head is coming
    body,       // is coming
    storing,    // a piece of the body is being written to its file
    answering,  // the handler has the request
    sending,    // the answer is being written
    loading,    // so it is, and the next piece of its file is being read
    streaming,  // events are sent as they come
    lingering,  // all is said; what the client still sends is thrown away, so that it reads the answer
    closed,
  };
  /// How much has moved since when, to be held against the least rate.
  struct Pace {
    Time start;
    std::uint64_t bytes = 0;
  };

  // connection.cpp: reading
  void begin_request();
  void wait_for_input();
  void receive();
  void end_of_input();
  void advance();
  bool admit();
  bool continue_is_sent();
  bool body_has_room();
  void store(std::move_only_function<Status(Upload&)> step);
  void stored(const Status& status);
  void drop_upload();
  void dispatch();
  void answered(std::uint64_t serial, Response response);
  void refuse(Response response);
  [[nodiscard]] Time body_due(Time now) const;
  [[nodiscard]] Time answer_due(Time now) const;

  // connection_sending.cpp
  void send(Response response);
  [[nodiscard]] bool has_room_for(const Response& response) const;
  void free_output();
  [[nodiscard]] bool flush();
  void go_on_sending();
  void load_piece();
  void loaded(std::string piece, bool whole);
  void stream_events();
  void send_heartbeat(Time now);
  void answer_is_sent();
  void linger();

  Hub& hub_;
  Channel channel_;
  Phase phase_ = Phase::head;
  Time deadline_;
  bool waits_for_input_ = false, waits_for_output_ = false;
  bool is_turned_away_ = false;

  std::string unread_;  // received and not yet understood
  std::optional<RequestReader> reader_;
  bool head_has_begun_ = false;
  Pace received_;
  Time storing_since_;
  Time waits_since_;                // for the next request, or for the rest of its head
  std::uint64_t counted_body_ = 0;  // of this connection in hub_.bodies_bytes
  std::shared_ptr<Upload> upload_;
  bool is_quick_ = false;

  std::uint64_t serial_ = 0;  // of the request under way: an answer that comes late belongs to none
  Time asked_at_;
  Asked asked_;
  bool input_is_left_ = false;

  std::string output_, output_body_;  // a large body is not copied behind the head
  std::size_t written_ = 0;           // of both
  std::uint64_t counted_answer_ = 0;  // of this connection in hub_.answers_bytes
  Pace sent_;
  bool keeps_alive_ = true;
  std::shared_ptr<FileBody> file_;  // shared with the thread that reads it
  std::uint64_t file_at_ = 0, file_left_ = 0;
  std::shared_ptr<EventQueue> events_;
  Time heartbeat_at_;
  std::uint64_t lingered_bytes_ = 0;
};

}  // namespace plimsoll::serve
