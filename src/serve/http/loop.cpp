#include "serve/http/loop.hpp"

#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

// The only file that includes Asio, whose headers take seconds to compile.
namespace plimsoll::serve {

namespace asio = boost::asio;
using boost::system::error_code;

class Loop::State {
 public:
  asio::io_context context{1};  // run by one thread; others only post
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  asio::steady_timer tick{context};

  void wait(std::chrono::milliseconds interval, std::function<bool()> task) {
    tick.expires_after(interval);
    tick.async_wait([this, interval, task = std::move(task)](error_code error) mutable {
      if (!error && task()) wait(interval, std::move(task));
    });
  }
};

Loop::Loop() : state_(std::make_unique<State>()) {}
Loop::~Loop() = default;

void Loop::run() {
  state_->context.run();
}

void Loop::stop() {
  state_->context.stop();
}

void Loop::post(std::move_only_function<void()> task) {
  asio::post(state_->context, std::move(task));
}

void Loop::repeat(std::chrono::milliseconds interval, std::function<bool()> task) {
  state_->wait(interval, std::move(task));
}

class Channel::State {
 public:
  State(Loop::State& loop, FileDescriptor file) : owned(std::move(file)), stream(loop.context, owned.get()) {}
  ~State() { close(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void wait(asio::posix::descriptor_base::wait_type what, std::function<void()> ready) {
    stream.async_wait(what, [ready = std::move(ready)](error_code error) {
      if (!error) ready();
    });
  }
  void close() {
    if (!owned) return;
    stream.release();  // ends the waits, and leaves the closing to its owner
    owned.reset();
  }

  FileDescriptor owned;
  asio::posix::stream_descriptor stream;
};

Channel::Channel(Loop& loop, FileDescriptor descriptor)
    : state_(std::make_unique<State>(*loop.state_, std::move(descriptor))) {}

Channel::~Channel() = default;

void Channel::when_readable(std::function<void()> ready) {
  state_->wait(asio::posix::descriptor_base::wait_read, std::move(ready));
}

void Channel::when_writable(std::function<void()> ready) {
  state_->wait(asio::posix::descriptor_base::wait_write, std::move(ready));
}

void Channel::close() {
  state_->close();
}

int Channel::descriptor() const {
  return state_->owned.get();
}

}  // namespace plimsoll::serve
