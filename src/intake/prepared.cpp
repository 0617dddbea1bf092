#include "intake/prepared.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/random_text.hpp"
#include "dataset/dataset.hpp"
#include "job/fields.hpp"
#include "job/safetensors.hpp"

namespace plimsoll::intake {
namespace {

using network::DataType;
using std::filesystem::path;

constexpr std::int64_t kVersion = 1;  ///< of how examples are prepared; part of the names
constexpr std::int64_t kBetweenProgress = 1024;
constexpr auto kAbandoned = std::chrono::hours(24);  // a file half written and not touched since

/// Sums over the pixels of a channel.
struct Channel {
  double pixels = 0, sum = 0, squares = 0;
  [[nodiscard]] double mean() const { return pixels > 0 ? sum / pixels / 255 : 0; }
  [[nodiscard]] double deviation() const {
    if (pixels <= 0) return 1;
    const double average = sum / pixels;
    return std::sqrt(std::max(0.0, squares / pixels - average * average)) / 255;
  }
};

/// What is written of a source, in the order of the arrays of the file.
class Preparing {
 public:
  Preparing(Source source, const OnProgress& progress) : source_(std::move(source)), progress_(progress) {
    total_ = source_.training.count + (source_.test ? source_.test->count : 0);
    if (source_.training.form.is_image())
      channels_.resize(static_cast<std::size_t>(source_.training.form.dims[0]));
  }

  Status write(const path& file) {
    std::vector<job::ArrayToStore> arrays;
    add_part(arrays, source_.training, dataset::kInputs, dataset::kLabels, true);
    if (source_.test) add_part(arrays, *source_.test, dataset::kTestInputs, dataset::kTestLabels, false);
    const std::string names = job::dump(job::texts_json(source_.class_names));
    if (!source_.class_names.empty())
      arrays.push_back({std::string(dataset::kClassNames),
                        DataType::uint8,
                        {std::ssize(names)},
                        std::as_bytes(std::span(names))});
    add_channels(arrays, dataset::kMean, &Channel::mean);
    add_channels(arrays, dataset::kDeviation, &Channel::deviation);
    return job::replace_safetensors(file, arrays);
  }

 private:
  void add_part(std::vector<job::ArrayToStore>& arrays, Part& part, std::string_view inputs,
                std::string_view labels, bool training) {
    std::vector<std::int64_t> dims{part.count}, label_dims{part.count};
    dims.insert(dims.end(), part.form.dims.begin(), part.form.dims.end());
    label_dims.insert(label_dims.end(), part.labels.dims.begin(), part.labels.dims.end());
    arrays.push_back(
        {std::string(inputs),
         part.form.type,
         std::move(dims),
         {},
         [this, &part, training](const job::ByteSink& sink) { return pass_on(part, training, sink); }});
    arrays.push_back({std::string(labels), part.labels.type, std::move(label_dims), part.labels.bytes});
  }

  Status pass_on(Part& part, bool training, const job::ByteSink& sink) {
    std::vector<std::byte> row(static_cast<std::size_t>(part.form.bytes()));
    for (std::int64_t i = 0; i < part.count; ++i) {
      PLIMSOLL_TRY(part.inputs->next(row));
      if (training && !channels_.empty()) add(row);
      PLIMSOLL_TRY(sink(row));
      if (++done_ % kBetweenProgress == 0 && progress_)
        progress_(static_cast<double>(done_) / static_cast<double>(total_));
    }
    return part.inputs->end();
  }

  void add(std::span<const std::byte> image) {
    const std::size_t pixels = image.size() / channels_.size();
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      std::uint64_t sum = 0, squares = 0;  // of one image: exact
      for (const std::byte b : image.subspan(c * pixels, pixels)) {
        const auto value = std::to_integer<std::uint64_t>(b);
        sum += value;
        squares += value * value;
      }
      channels_[c].pixels += static_cast<double>(pixels);
      channels_[c].sum += static_cast<double>(sum);
      channels_[c].squares += static_cast<double>(squares);
    }
  }

  void add_channels(std::vector<job::ArrayToStore>& arrays, std::string_view name,
                    double (Channel::*of)() const) {
    if (channels_.empty()) return;
    arrays.push_back({std::string(name),
                      DataType::float64,
                      {std::ssize(channels_)},
                      {},
                      [this, of](const job::ByteSink& sink) -> Status {
                        std::vector<double> values;
                        for (const Channel& channel : channels_) values.push_back((channel.*of)());
                        return sink(std::as_bytes(std::span(values)));
                      }});
  }

  Source source_;
  const OnProgress& progress_;
  std::vector<Channel> channels_;
  std::int64_t done_ = 0, total_ = 0;
};

/// FNV-1a, of 128 bits: names need no more than to be different, and nobody else makes them.
std::string fingerprint(std::string_view text) {
  __extension__ using Wide = unsigned __int128;  // g++ and clang have it
  constexpr Wide kPrime = (Wide{1} << 88) + 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(hash >> 64),
                     static_cast<std::uint64_t>(hash));
}

void describe(const path& file, std::string& out) {
  std::error_code problem;
  const auto size = std::filesystem::file_size(file, problem);
  const auto time = std::filesystem::last_write_time(file, problem);
  out += fmt::format("{}\n{} {}\n", file.string(), problem ? 0 : size,
                     problem ? 0 : static_cast<std::int64_t>(time.time_since_epoch().count()));
}

/// Paths, sizes and times of all that a request names.
Result<std::string> identity(const Request& request) {
  const auto number = [](const std::optional<std::int64_t>& n) { return n.value_or(0); };
  std::string text = fmt::format("plimsoll {} {} {} {}\n", kVersion, number(request.images.channels),
                                 number(request.images.height), number(request.images.width));
  for (const std::string& name : request.classes) text += fmt::format("class {} {}\n", name.size(), name);
  for (const path* const named : {&request.path, &request.labels, &request.test, &request.test_labels}) {
    text += "named\n";
    if (named->empty()) continue;
    std::error_code problem;
    const path whole = std::filesystem::canonical(*named, problem);
    if (problem)
      return std::unexpected(Error{"cannot be found: " + problem.message(), printable(named->string())});
    if (!std::filesystem::is_directory(whole, problem)) {
      describe(whole, text);
      continue;
    }
    std::vector<path> files;
    for (auto entry = std::filesystem::recursive_directory_iterator(whole, problem);
         !problem && entry != std::filesystem::recursive_directory_iterator(); entry.increment(problem))
      if (entry->is_regular_file(problem)) files.push_back(entry->path());
    if (problem)
      return std::unexpected(Error{"cannot be listed: " + problem.message(), printable(named->string())});
    std::ranges::sort(files);
    text += whole.string() + "\n";
    for (const path& file : files) describe(file, text);
  }
  return fingerprint(text);
}

/// Makes room: prepared files that were used longest ago go, and what was left half written.
void keep_within(const path& folder, const path& used, std::int64_t most_bytes) {
  struct Kept {
    path file;
    std::int64_t bytes;
    std::filesystem::file_time_type time;
  };
  std::vector<Kept> kept;
  std::int64_t total = 0;
  std::error_code problem;
  for (auto entry = std::filesystem::directory_iterator(folder, problem);
       !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    std::error_code ignored;
    const auto time = entry->last_write_time(ignored);
    if (entry->path().extension() == ".part") {
      if (std::filesystem::file_time_type::clock::now() - time > kAbandoned)
        std::filesystem::remove(entry->path(), ignored);
      continue;
    }
    if (entry->path().extension() != ".safetensors") continue;
    const auto bytes = static_cast<std::int64_t>(entry->file_size(ignored));
    total += bytes;
    if (entry->path() != used) kept.push_back({entry->path(), bytes, time});
  }
  std::ranges::sort(kept, {}, &Kept::time);
  for (const Kept& old : kept) {
    if (total <= most_bytes) return;
    std::error_code ignored;
    // Whoever has it open goes on with it; the next start makes it again.
    if (std::filesystem::remove(old.file, ignored)) total -= old.bytes;
  }
}

}  // namespace

Status write_prepared(Source source, const path& file, const OnProgress& progress) {
  return Preparing(std::move(source), progress).write(file);
}

Result<path> prepared_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return path(cache) / "plimsoll" / "data";
  if (home != nullptr && *home != '\0') return path(home) / ".cache" / "plimsoll" / "data";
  return std::unexpected(
      Error{.message = "there is no place for prepared data: neither XDG_CACHE_HOME nor HOME is set",
            .kind = Error::Kind::machine_lacks});
}

Result<path> prepare(const Request& request, const path& folder, const OnProgress& progress,
                     std::int64_t most_bytes) {
  if (request.path.extension() == ".safetensors") {
    if (request.images != ImageRequest() || !request.labels.empty())
      return std::unexpected(
          Error{"a safetensors file is learned from as it is: --image-size, --channels and --labels "
                "are not for it",
                printable(request.path.string())});
    return request.path;
  }
  const Result<std::string> name = identity(request);
  PLIMSOLL_TRY(name);
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    return std::unexpected(Error{.message = "cannot be made: " + problem.message(),
                                 .where = printable(folder.string()),
                                 .kind = Error::Kind::unavailable});
  path file = folder / (*name + ".safetensors");
  if (std::filesystem::is_regular_file(file, problem) && dataset::Dataset::open(file)) {
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now(), problem);
    return file;
  }
  Result<Source> source = open_source(request);
  PLIMSOLL_TRY(source);
  // Two that prepare the same at once write files of their own; the last one's stays.
  const Result<std::string> own = random_hex(8);
  PLIMSOLL_TRY(own);
  const path made = folder / (*name + "." + *own);
  PLIMSOLL_TRY(write_prepared(*std::move(source), made, progress));
  std::filesystem::rename(made, file, problem);
  if (problem)
    return std::unexpected(Error{"cannot be renamed: " + problem.message(), printable(made.string())});
  keep_within(folder, file, most_bytes);
  return file;
}

}  // namespace plimsoll::intake
