#include "full_screen.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace plimsoll {
namespace {

// The second screen, no cursor, and lines that are too long are cut by the terminal instead of wrapped.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

// Handlers of signals can reach nothing else: a terminal has one state, and a program one terminal.
termios before{};
volatile std::sig_atomic_t entered = 0;
volatile std::sig_atomic_t resized = 0;
volatile std::sig_atomic_t ended = 0;
std::array<struct sigaction, NSIG> old_actions{};
sigset_t old_mask;

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EAGAIN) {
      pollfd ready{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, 1000);
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the terminal is gone
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void enter() {
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  entered = 1;
  write_all(kEnter);
}

/// Only what a handler of signals may call.
void leave() {
  if (entered == 0) return;
  entered = 0;
  write_all(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void on_crash(int signal) {
  leave();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void set_action(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigaction(signal, &action, &old_actions[static_cast<std::size_t>(signal)]);
}

void restore_action(int signal) {
  ::sigaction(signal, &old_actions[static_cast<std::size_t>(signal)], nullptr);
}

}  // namespace

Result<FullScreen> FullScreen::open() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &before) != 0)
    return std::unexpected(Error{"there is no terminal to draw on", {}, "--once prints one view.", {}});
  // Held back but while waiting, so that none comes between looking and waiting.
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : kEnding) sigaddset(&held, signal);
  sigaddset(&held, SIGWINCH);
  ::pthread_sigmask(SIG_BLOCK, &held, &old_mask);
  resized = 0;
  ended = 0;
  for (const int signal : kEnding) set_action(signal, [](int) { ended = 1; });
  set_action(SIGWINCH, [](int) { resized = 1; });
  for (const int signal : kCrashes) set_action(signal, on_crash);
  enter();
  return FullScreen();
}

FullScreen::~FullScreen() {
  if (!open_) return;
  leave();
  for (const int signal : kEnding) restore_action(signal);
  for (const int signal : kCrashes) restore_action(signal);
  restore_action(SIGWINCH);
  ::pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
}

FullScreen::Size FullScreen::size() const {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {std::min<int>(window.ws_col, 1000), std::min<int>(window.ws_row, 1000)};
}

void FullScreen::show(const std::vector<std::string>& lines) const {
  // Drawn over what is there, line by line, and in one write: no flicker, also over a slow line.
  std::string out = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\r\n";
    out += lines[i];
    out += "\x1b[0m\x1b[K";
  }
  out += "\x1b[J";
  write_all(out);
}

FullScreen::Happened FullScreen::wait(std::chrono::milliseconds most) const {
  if (ended != 0) return {Event::ended};
  pollfd keys{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  const timespec time{.tv_sec = most.count() / 1000, .tv_nsec = (most.count() % 1000) * 1'000'000};
  const int ready = ::ppoll(&keys, 1, &time, &old_mask);
  if (ended != 0) return {Event::ended};
  if (resized != 0) {
    resized = 0;
    return {Event::resized};
  }
  if (ready <= 0) return {Event::time};
  char key = 0;
  const ssize_t got = ::read(STDIN_FILENO, &key, 1);
  if (got == 1) return {Event::key, key};
  // Readable, but nothing to read: the other end has hung up.
  if (got == 0 || (errno != EINTR && errno != EAGAIN)) return {Event::ended};
  return {Event::time};
}

void FullScreen::suspend() const {
  leave();
  ::kill(::getpid(), SIGSTOP);
  enter();
}

}  // namespace plimsoll
