#include "queue/slurm/lent.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "queue/slurm/commands.hpp"

namespace plimsoll::queue::slurm {
namespace {

double number_in(const std::string& text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out > 0 ? out : 0;
}

std::vector<std::string> list_in(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

class Lent final : public Allocation {
 public:
  Lent(LentAllocation lent, PoolSetting setting, AllocationTerms terms)
      : lent_(std::move(lent)),
        setting_(std::move(setting)),
        terms_(std::move(terms)),
        pool_(pool_name(setting_)) {
    if (lent_.shards == 0) return;
    const auto gres = gres_of(lent_.id.node);
    share_ = gres ? share_of(lent_.shards, count_of(*gres, "shard"), count_of(*gres, "gpu")) : 1;
  }

  AllocationNews attend(const Inside& inside) override {
    AllocationNews out;
    const std::string name = shown_name(inside), comment = shown_comment(pool_, inside);
    if (shown_ != name + comment) {
      if (const Status shown = show(lent_.id.job, name, comment)) {
        shown_ = name + comment;
      } else if (!std::exchange(told_not_shown_, true)) {
        out.said.push_back("squeue cannot show what is inside: " + shown.error().text());
      }
    }
    if (const auto left = time_left(lent_.id.job)) out.left = *left;
    if (!inside.wants_more) return out;
    // Who ends needs one that takes its jobs; who goes on needs one more.
    const auto asked = ask_for_allocation(setting_, terms_, !inside.ending);
    if (!asked)
      out.said.push_back("another allocation cannot be asked for: " + asked.error().text());
    else if (asked->asked)
      out.said.push_back(
          fmt::format("asked for another allocation, {}: {} jobs wait", *asked->asked, inside.waiting));
    return out;
  }

  bool was_cancelled(const std::string& host) override {
    const auto state = state_of(job_of_host(host));
    return state && *state == "CANCELLED";
  }

  running::Variables variables() const override {
    return {{"SLURM_JOB_ID", lent_.id.job},
            {"SLURM_CLUSTER_NAME", lent_.id.cluster},
            {"SLURM_JOB_PARTITION", lent_.partition},
            {"SLURM_RESTART_COUNT", lent_.id.restart},
            {"SLURMD_NODENAME", lent_.id.node}};
  }

  double memory_share() const override { return share_; }

 private:
  LentAllocation lent_;
  PoolSetting setting_;
  AllocationTerms terms_;
  std::string pool_;
  double share_ = 1;
  std::string shown_ = {};
  bool told_not_shown_ = false;
};

}  // namespace

Result<LentAllocation> read_allocation(Lookup variable) {
  LentAllocation out;
  const auto job = variable("SLURM_JOB_ID");
  if (!job || job->empty())
    return std::unexpected(Error{"this is no allocation of Slurm: SLURM_JOB_ID is not set", "--allocation",
                                 "`plimsoll submit --slurm` asks for one and starts the daemon inside."});
  out.id = {.cluster = variable("SLURM_CLUSTER_NAME").value_or("cluster"),
            .job = *job,
            .restart = variable("SLURM_RESTART_COUNT").value_or("0"),
            .node = variable("SLURMD_NODENAME").value_or("node")};
  out.partition = variable("SLURM_JOB_PARTITION").value_or("");
  // Where only shards are held, Slurm names the GPU for OpenCL alone.
  const auto cuda = variable("CUDA_VISIBLE_DEVICES");
  out.devices = list_in(cuda && !cuda->empty() ? *cuda : variable("GPU_DEVICE_ORDINAL").value_or(""));
  if (out.devices.empty())
    return std::unexpected(Error{"the allocation holds no GPU", "Slurm",
                                 "Ask for one: --slurm-option=--gres=gpu:1", Error::Kind::machine_lacks});
  out.shards = static_cast<std::size_t>(number_in(variable("SLURM_SHARDS_ON_NODE").value_or("")));
  out.mps_percentage = number_in(variable("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE").value_or(""));
  return out;
}

double share_of(std::size_t shards, std::int64_t on_node, std::int64_t gpus) {
  if (shards == 0 || on_node <= 0 || gpus <= 0) return 1;
  const double of_one = static_cast<double>(on_node) / static_cast<double>(gpus);
  return std::clamp(static_cast<double>(shards) / of_one, 0.0, 1.0);
}

std::shared_ptr<Allocation> lent_allocation(const LentAllocation& lent, const PoolSetting& setting,
                                            const AllocationTerms& terms) {
  return std::make_shared<Lent>(lent, setting, terms);
}

}  // namespace plimsoll::queue::slurm
