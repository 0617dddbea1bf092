#include "engine/saving.hpp"

#include <cstring>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include "base/printable.hpp"
#include "engine/arrays.hpp"
#include "job/fields.hpp"
#include "job/safetensors.hpp"

namespace plimsoll::engine {
namespace {

using Arrays = std::map<std::string, at::Tensor>;
using job::Json;
using network::TensorId;

constexpr std::int64_t kSaveVersion = 1;
constexpr std::string_view kPlace = "place", kGenerator = "generator", kDeviceGenerator = "device_generator";
constexpr std::size_t kMostPlaceBytes = std::size_t{1} << 28;
constexpr int kPlaceLevels = 5;

at::Tensor bytes_of(std::string_view text) {
  at::Tensor made = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  if (!text.empty()) std::memcpy(made.data_ptr(), text.data(), text.size());
  return made;
}

/// Names may stand twice in a network; numbers do not.
std::string key_of(const Executor& executor, TensorId id) {
  return fmt::format("weight/{}/{}", index(id), executor.routine().network->name_of(id));
}

at::Generator device_generator(at::Device device) {
  return at::globalContext().defaultGenerator(device);
}

Json place_json(const Progression& at, const Identity& identity, const Optimizer::Kept& kept) {
  Json epochs = Json::array();
  for (const job::Epoch& epoch : at.epochs) epochs.push_back(job::write(job::Answer(epoch)));
  Json same = Json::object();
  for (const auto& [name, value] : identity) same[name] = job::text_json(value);
  return {{"version", kSaveVersion},
          {"step", at.step},
          {"epoch", at.epoch},
          {"loss_sum", job::real_json(at.loss_sum)},
          {"loss_count", at.loss_count},
          {"seconds", job::real_json(at.seconds)},
          {"ended", at.ended},
          {"epochs", std::move(epochs)},
          {"taken", kept.taken},
          {"first", kept.first.size()},
          {"second", kept.second.size()},
          {"identity", std::move(same)}};
}

struct Place {
  Progression at;
  std::int64_t taken = 0, first = 0, second = 0;
};

std::vector<job::Epoch> read_epochs(const job::Fields& fields) {
  std::vector<job::Epoch> epochs;
  for (const std::string& line : fields.texts("epochs")) {
    const Result<job::Answer> answer = job::read_answer(line);
    const auto* const epoch = answer ? std::get_if<job::Epoch>(&*answer) : nullptr;
    if (epoch == nullptr)
      fields.complain("epochs", "holds what is no epoch");
    else
      epochs.push_back(*epoch);
  }
  return epochs;
}

/// What differs from the save, in the first name that does.
Status check_identity(const job::Fields& fields, const Identity& identity) {
  for (const auto& [name, value] : identity) {
    const auto saved = fields.text_if_any(name);
    if (saved && *saved == value) continue;
    return std::unexpected(
        Error{fmt::format("the save is of another training: its {} is {}, here it is {}", name,
                          saved ? printable(*saved, 60) : "not known", printable(value, 60)),
              {},
              "Ask for the same training, or name another folder to save in."});
  }
  return {};
}

Result<Place> read_place(const Arrays& arrays, const Identity& identity) {
  const auto found = arrays.find(std::string(kPlace));
  if (found == arrays.end() || found->second.scalar_type() != at::kByte)
    return fail("is no save of a training");
  const std::string_view text(static_cast<const char*>(found->second.data_ptr()), found->second.nbytes());
  const Result<Json> document = job::parse_within(text, kMostPlaceBytes, kPlaceLevels);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  const job::Fields fields(*document, "", error);
  if (fields.whole("version") != kSaveVersion) return fail("is a save of another version of Plimsoll");
  Place place{.at = {.step = fields.whole("step"),
                     .epoch = fields.whole("epoch"),
                     .loss_sum = fields.real("loss_sum"),
                     .loss_count = fields.whole("loss_count"),
                     .seconds = fields.not_negative("seconds"),
                     .ended = fields.flag("ended"),
                     .epochs = read_epochs(fields)},
              .taken = fields.whole("taken"),
              .first = fields.whole("first"),
              .second = fields.whole("second")};
  const Status same = check_identity(fields.section("identity"), identity);
  if (error) return std::unexpected(std::move(*error));
  PLIMSOLL_TRY(same);
  return place;
}

/// Contents into a tensor that is there, which keeps its place and how it lies in memory.
Status restore(const Arrays& arrays, const std::string& key, const at::Tensor& to) {
  const auto found = arrays.find(key);
  if (found == arrays.end() || found->second.sizes() != to.sizes() ||
      found->second.scalar_type() != to.scalar_type())
    return fail("holds no {} of this network's form", quote(key));
  const c10::NoGradGuard no_gradients;
  to.copy_(found->second);
  return {};
}

/// What the optimizer keeps; only parameters with gradients have some.
Status restore_list(const Arrays& arrays, std::string_view name, std::int64_t count,
                    const Optimizer& optimizer, std::vector<at::Tensor>& out) {
  if (count > std::ssize(optimizer.parameters()))
    return fail("holds the state of {} parameters, not of {}", count, optimizer.parameters().size());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto found = arrays.find(fmt::format("{}/{}", name, i));
    if (found == arrays.end()) return fail("holds no {} of parameter {}", name, i);
    out.push_back(found->second.to(optimizer.parameters().front().device()));
  }
  return {};
}

Result<Progression> bring_back(const Arrays& arrays, Executor& executor, Optimizer& optimizer,
                               const Identity& identity) {
  Result<Place> place = read_place(arrays, identity);
  PLIMSOLL_TRY(place);
  for (const TensorId id : executor.routine().weights)
    PLIMSOLL_TRY(restore(arrays, key_of(executor, id), executor.kept(id)));
  Optimizer::Kept kept{.first = {}, .second = {}, .taken = place->taken};
  PLIMSOLL_TRY(restore_list(arrays, "first", place->first, optimizer, kept.first));
  PLIMSOLL_TRY(restore_list(arrays, "second", place->second, optimizer, kept.second));
  optimizer.bring_back(std::move(kept));
  const auto generator = arrays.find(std::string(kGenerator));
  if (generator == arrays.end()) return fail("holds no state of the random generator");
  at::Generator(at::detail::getDefaultCPUGenerator())
      .set_state(generator->second);  // a handle of the one state
  const auto on_device = arrays.find(std::string(kDeviceGenerator));
  if (on_device != arrays.end() && !executor.device().is_cpu())
    device_generator(executor.device()).set_state(on_device->second);
  return std::move(place->at);
}

}  // namespace

Status write_save(const std::string& path, const Executor& executor, const Optimizer& optimizer,
                  const Progression& at, const Identity& identity) {
  Arrays arrays;
  for (const TensorId id : executor.routine().weights) arrays[key_of(executor, id)] = executor.kept(id);
  const Optimizer::Kept& kept = optimizer.kept();
  for (std::size_t i = 0; i < kept.first.size(); ++i) arrays[fmt::format("first/{}", i)] = kept.first[i];
  for (std::size_t i = 0; i < kept.second.size(); ++i) arrays[fmt::format("second/{}", i)] = kept.second[i];
  arrays[std::string(kGenerator)] = at::detail::getDefaultCPUGenerator().get_state();
  if (!executor.device().is_cpu())
    arrays[std::string(kDeviceGenerator)] = device_generator(executor.device()).get_state();
  arrays[std::string(kPlace)] = bytes_of(job::dump(place_json(at, identity, kept)));
  return write_arrays(path, arrays, job::replace_safetensors);
}

Result<Progression> read_save(const std::string& path, Executor& executor, Optimizer& optimizer,
                              const Identity& identity) {
  Result<Arrays> arrays = read_arrays(path);
  PLIMSOLL_TRY(arrays);
  Result<Progression> at = bring_back(*arrays, executor, optimizer, identity);
  if (!at) return std::unexpected(std::move(at).error().within(printable(path)));
  return at;
}

Status write_trained(const std::string& path, const Executor& executor) {
  Arrays arrays;
  for (const TensorId id : executor.routine().weights)
    arrays[std::string(executor.routine().network->name_of(id))] = executor.kept(id);
  return write_arrays(path, arrays, job::replace_safetensors);
}

}  // namespace plimsoll::engine
