#include "run/supervisor.hpp"

#include <array>
#include <csignal>
#include <future>
#include <map>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/files.hpp"
#include "run/supervision.hpp"
#include "run/supervisor_client.hpp"

namespace plimsoll::running {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

/// A door that stays shut until the test opens it, and tells who stands before it.
class Gate {
 public:
  void wait_here() {
    arrived_.set_value();
    open_.get_future().wait();
  }
  void wait_for_arrival() { arrived_.get_future().wait(); }
  void open() { open_.set_value(); }

 private:
  std::promise<void> arrived_;
  std::promise<void> open_;
};

JobSpec shell(const std::string& text, const std::string& name) {
  JobSpec job;
  job.command = {"/bin/sh", "-c", text};
  job.name = name;
  job.workload = "together";
  return job;
}

/// A supervisor in this process, as `plimsoll supervise` makes one, and the one who listens to it.
class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::make("plsv");
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    ASSERT_EQ(::chmod(folder_->path().c_str(), 0700), 0);
    options_.store = (folder_->path() / "store.db").string();
    services_.git = [](const JobSpec&) { return Provenance(); };
    services_.python = [](const JobSpec&) { return Provenance(); };
  }

  /// Runs the jobs while `meanwhile` talks to the supervisor.
  Result<SessionResult> run(const std::vector<JobSpec>& jobs,
                            const std::function<void(SupervisorClient&)>& meanwhile) {
    auto directory = RuntimeDirectory::make(folder_->path());
    EXPECT_TRUE(directory);
    auto signals = SignalSource::open(true);
    EXPECT_TRUE(signals);
    const std::filesystem::path socket = directory->path() / kControlSocket;
    auto control = Control::start(socket, FileDescriptor());
    EXPECT_TRUE(control);
    Listener listener;
    listener.started = [&](std::size_t job, const std::string& run) {
      (*control)->tell({{"type", "started"}, {"job", job}, {"run", run}}, true);
    };
    listener.ended = [&](const Ended& ended) {
      events_.push_back(jobs[ended.job].name + " " + std::string(name(ended.outcome)));
      (*control)->tell(ended_json(ended), true);
    };
    listener.say = [&](const std::string& line) { said_.push_back(line); };
    listener.warn = [&](const std::string& line) { warnings_.push_back(line); };
    std::jthread other([&] {
      auto client = SupervisorClient::connect(socket);
      ASSERT_TRUE(client);
      meanwhile(*client);
    });
    return supervise(jobs, options_, listener, **control, *signals, *directory, services_);
  }

  /// The next message of this type.
  static job::Json await(SupervisorClient& client, std::string_view type) {
    static thread_local std::vector<job::Json> heard;
    while (true) {
      for (auto it = heard.begin(); it != heard.end(); ++it)
        if (type_of(*it) == type) {
          job::Json found = *it;
          heard.erase(it);
          return found;
        }
      if (!client.is_open()) {
        ADD_FAILURE() << "it ended without saying " << type;
        return {};
      }
      pollfd ready{client.descriptor(), POLLIN, 0};
      ::poll(&ready, 1, -1);
      for (job::Json& message : client.receive()) heard.push_back(std::move(message));
    }
  }

  std::optional<TemporaryDirectory> folder_;
  SessionOptions options_;
  Services services_;
  std::vector<std::string> events_;
  std::vector<std::string> warnings_;
  std::vector<std::string> said_;
};

TEST_F(SupervisorTest, ACopyThatHangsHoldsUpNobodyElse) {
  Gate gate;
  services_.keep_files = [&](const JobSpec& job, const std::vector<std::string>&,
                             const std::filesystem::path&) {
    if (job.name == "first") gate.wait_here();
    return std::vector<std::string>();
  };
  const auto result = run(
      {shell("exit 0", "first"), shell("echo here; sleep 1000", "second")}, [&](SupervisorClient& client) {
        std::array<std::string, 2> runs;
        for (int i = 0; i < 2; ++i) {
          const job::Json started = await(client, "started");
          runs.at(started["job"].get<std::size_t>()) = started["run"].get<std::string>();
        }
        gate.wait_for_arrival();
        // While the copy hangs: output is passed on, and a command is ended.
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        const FileDescriptor read_end(ends[0]);
        FileDescriptor write_end(ends[1]);
        client.send({{"type", "attach"}, {"run", runs[1]}}, {write_end.get(), write_end.get()});
        std::array<char, 5> text{};
        ASSERT_EQ(::read(read_end.get(), text.data(), text.size()), 5);
        EXPECT_EQ(std::string_view(text.data(), 5), "here\n");
        client.send({{"type", "stop"}, {"run", runs[1]}});
        EXPECT_EQ(await(client, "ended")["run"], runs[1]);
        gate.open();
        EXPECT_EQ(await(client, "ended")["run"], runs[0]);
      });
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_THAT(events_, ElementsAre("second interrupted", "first finished"));
  EXPECT_FALSE(result->hangs);
}

TEST_F(SupervisorTest, AnAnswerThatNeverComesIsLeftInTheEnd) {
  const auto gate = std::make_shared<Gate>();
  services_.git = [gate](const JobSpec&) {
    gate->wait_here();
    return Provenance();
  };
  services_.git_patience = milliseconds(0);
  services_.patience = milliseconds(0);
  const auto result = run({shell("exit 4", "only")}, [&](SupervisorClient& client) {
    gate->wait_for_arrival();
    EXPECT_EQ(await(client, "ended")["exit_code"], 4) << "it ran to its end while git hung";
  });
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->hangs);
  EXPECT_THAT(warnings_, testing::Contains(testing::HasSubstr("asking git")));
  gate->open();
}

TEST_F(SupervisorTest, WhatGitSaysLateIsInTheRecord) {
  Gate gate;
  services_.git = [&](const JobSpec&) {
    gate.wait_here();
    return Provenance{.tags = {{"plimsoll.git.revision", "abc"}}, .files = {{"git.diff", "+x\n"}}};
  };
  services_.git_patience = milliseconds(0);
  std::string id;
  const auto result = run({shell("sleep 1000", "only")}, [&](SupervisorClient& client) {
    id = await(client, "started")["run"].get<std::string>();
    gate.open();
    client.send({{"type", "stop"}, {"run", id}});
    static_cast<void>(await(client, "ended"));
  });
  ASSERT_TRUE(result);
  auto store = store::open(options_.store);
  ASSERT_TRUE(store);
  const auto found = (*store)->find(id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->tags.at("plimsoll.git.revision"), "abc");
  EXPECT_TRUE(std::filesystem::exists(*(*store)->artifacts(id) / "git.diff"));
}

TEST_F(SupervisorTest, WhatGitSaysWhileTheRecordIsMadeIsInIt) {
  services_.git = [](const JobSpec&) {  // at once, and nobody waits for it
    return Provenance{.tags = {{"plimsoll.git.revision", "abc"}}, .files = {}};
  };
  services_.git_patience = milliseconds(0);
  std::string id;
  const auto result = run({shell("exit 0", "only")}, [&](SupervisorClient& client) {
    id = await(client, "started")["run"].get<std::string>();
    static_cast<void>(await(client, "ended"));
  });
  ASSERT_TRUE(result);
  auto store = store::open(options_.store);
  ASSERT_TRUE(store);
  const auto found = (*store)->find(id);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->tags.contains("plimsoll.git.revision"));
}

TEST_F(SupervisorTest, AJobStartsWhenThoseThatItWaitsForHaveEnded) {
  JobSpec second = shell("exit 0", "second");
  second.after = {"first", "ended in an earlier session"};
  const auto result = run(
      {second, shell("sleep 1000", "first"), shell("sleep 1000", "other")}, [&](SupervisorClient& client) {
        std::map<std::size_t, std::string> runs;
        for (int i = 0; i < 2; ++i) {
          const job::Json started = await(client, "started");
          runs[started["job"].get<std::size_t>()] = started["run"].get<std::string>();
        }
        ASSERT_FALSE(runs.contains(0)) << "it has to wait";
        client.send({{"type", "stop"}, {"run", runs.at(1)}});
        EXPECT_EQ(await(client, "started")["job"], 0) << "beside the other, which goes on";
        client.send({{"type", "stop"}, {"run", runs.at(2)}});
      });
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_THAT(said_, ElementsAre("second waits for first"));
  EXPECT_THAT(events_,
              testing::UnorderedElementsAre("first interrupted", "second finished", "other interrupted"));
}

TEST_F(SupervisorTest, OneThatCannotStartHasEndedToo) {
  JobSpec first = shell("", "first");
  first.command = {"/no/such/program"};
  JobSpec second = shell("exit 0", "second");
  second.after = {"first"};
  JobSpec third = shell("exit 5", "third");
  third.after = {"second"};
  const auto result = run({third, second, first}, [](SupervisorClient&) {});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_THAT(events_, testing::UnorderedElementsAre("first failed", "second finished", "third failed"));
}

TEST_F(SupervisorTest, AJobIsNotStartedBeforeItsTime) {
  JobSpec late = shell("exit 0", "late");
  late.start = Seconds(0.3);
  const auto before = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point started;
  const auto result = run({late}, [&](SupervisorClient& client) {
    static_cast<void>(await(client, "started"));
    started = std::chrono::steady_clock::now();
  });
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_GE(started - before, milliseconds(300));
}

TEST_F(SupervisorTest, WhoeverWaitsWhenAllIsEndedIsNotStarted) {
  JobSpec never = shell("exit 0", "never");
  never.after = {"first"};
  JobSpec later = shell("exit 0", "later");
  later.after = {"first"};
  later.start = Seconds(36000);
  const auto result = run({shell("sleep 1000", "first"), never, later}, [&](SupervisorClient& client) {
    static_cast<void>(await(client, "started"));
    client.send_signal(SIGTERM);
  });
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->interrupted);
  EXPECT_THAT(events_, ElementsAre("first interrupted"));
  EXPECT_THAT(said_, testing::IsSupersetOf({"never waits for first",
                                            "later waits for first, and starts in 10.0 h at the earliest"}));
}

TEST_F(SupervisorTest, AStoreThatCannotBeOpenedIsAnError) {
  services_.open_store = [](const std::string&) -> Result<std::unique_ptr<store::Store>> {
    return fail("no store today");
  };
  const auto result = run({shell("true", "only")}, [](SupervisorClient&) {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "no store today");
}

TEST_F(SupervisorTest, ACommandThatIsNotThereIsRecorded) {
  JobSpec job;
  job.command = {"/no/such/program"};
  job.name = "only";
  const auto result = run({job}, [&](SupervisorClient& client) {
    const job::Json ended = await(client, "ended");
    EXPECT_EQ(ended["exit_code"], 127);
    EXPECT_EQ(ended["run"].get<std::string>().size(), 32U);
  });
  ASSERT_TRUE(result);
  EXPECT_THAT(events_, ElementsAre("only failed"));
}

}  // namespace
}  // namespace plimsoll::running
