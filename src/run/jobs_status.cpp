// How what became of jobs gets into their file, which people and other sessions may change at any time.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "run/file_lock.hpp"
#include "run/jobs_file.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
constexpr auto kPatience = std::chrono::seconds(30);
constexpr int kMostAttempts = 10;

/// What changes where a file is written to or replaced.
struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};
std::optional<Stamp> stamp_of(const fs::path& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return Stamp{facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// The file that a link leads to: that one is replaced.
fs::path target_of(const fs::path& path) {
  std::error_code ignored;
  fs::path target = fs::weakly_canonical(path, ignored);
  return target.empty() ? path : target;
}

fs::path beside(const fs::path& path) {
  return path.string() + ".status.csv";
}

/// Puts `contents` in the file's place unless the file is no longer as `stamp` says. All but the comparison
/// and a rename is done before, so that hardly a moment is left in which an edit could slip through.
Result<bool> replace_unchanged(const fs::path& path, const Stamp& stamp, const std::string& contents) {
  const fs::path fresh = folder_of(path) / fmt::format(".{}.status", path.filename().string());
  PLIMSOLL_TRY(write_file(fresh, contents));
  struct stat facts{};
  const bool kept = ::stat(path.c_str(), &facts) == 0 && ::chmod(fresh.c_str(), facts.st_mode & 07777U) == 0;
  if (!kept || stamp_of(path) != stamp) {
    ::unlink(fresh.c_str());
    return false;
  }
  if (::rename(fresh.c_str(), path.c_str()) == 0) return true;
  const int code = errno;
  ::unlink(fresh.c_str());
  return std::unexpected(Error{fmt::format("cannot replace: {}", std::generic_category().message(code)),
                               path.string(),
                               {},
                               Error::Kind::machine_lacks});
}

std::size_t column_of(std::vector<CsvRow>& rows, std::string_view title) {
  std::vector<std::string>& header = rows.front().cells;
  for (std::size_t i = 0; i < header.size(); ++i)
    if (plain_title(header[i]) == plain_title(title)) return i;
  header.emplace_back(title);
  return header.size() - 1;
}

/// What a row says of its job, wherever its columns stand; what became of the job is left out.
using RowContents = std::map<std::string, std::string>;
RowContents contents_of(const CsvRow& header, const CsvRow& row) {
  RowContents out;
  for (std::size_t i = 0; i < std::min(header.cells.size(), row.cells.size()); ++i) {
    std::string title = plain_title(header.cells[i]);
    if (title != "status" && title != "run" && !row.cells[i].empty()) out[std::move(title)] = row.cells[i];
  }
  return out;
}

/// Which of a CSV's rows is this job's, as it stands now: the same contents, and of several such the one with
/// this run, else the one in the same place among them.
std::optional<std::size_t> row_of(const JobsFile& file, const JobRow& job, const std::vector<CsvRow>& now) {
  const RowContents wanted = contents_of(file.rows.front(), file.rows.at(job.place));
  std::size_t before = 0;
  for (std::size_t i = 1; i < job.place; ++i)
    if (contents_of(file.rows.front(), file.rows[i]) == wanted) ++before;
  std::optional<std::size_t> found;
  for (std::size_t i = 1; i < now.size(); ++i) {
    if (contents_of(now.front(), now[i]) != wanted) continue;
    const auto& header = now.front().cells;
    for (std::size_t c = 0; c < std::min(header.size(), now[i].cells.size()); ++c)
      if (plain_title(header[c]) == "run" && !job.run.empty() && now[i].cells[c] == job.run) return i;
    if (before == 0 && !found) found = i;
    if (before > 0) --before;
  }
  return found;
}

void put_status(const JobRow& job, std::size_t row, std::vector<CsvRow>& rows) {
  for (const auto& [title, value] : {std::pair("Status", &job.status), std::pair("Run", &job.run)}) {
    const std::size_t column = column_of(rows, title);
    std::vector<std::string>& cells = rows[row].cells;
    if (cells.size() <= column) cells.resize(column + 1);
    cells[column] = *value;
  }
}

/// Of the jobs in `due`, those whose rows are not there; all the others are written.
Result<std::set<std::size_t>> merge_into_csv(const JobsFile& file, const std::set<std::size_t>& due) {
  const fs::path target = target_of(file.path);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const auto stamp = stamp_of(target);
    if (!stamp) return fail("is no longer there");
    const Result<std::string> text = read_file(target, kLargestJobsFile);
    if (!text) return fail("{}", text.error().message);
    Result<std::vector<CsvRow>> rows = read_csv(*text);
    if (!rows) return fail("{}", rows.error().message);
    if (rows->empty()) return fail("is empty");
    std::set<std::size_t> missing;
    for (const std::size_t index : due) {
      const JobRow& job = file.jobs[index];
      if (const auto row = row_of(file, job, *rows))
        put_status(job, *row, *rows);
      else
        missing.insert(index);
    }
    if (missing.size() == due.size()) return missing;
    for (CsvRow& row : *rows) row.cells.resize(std::max(row.cells.size(), rows->front().cells.size()));
    const Result<bool> replaced = replace_unchanged(target, *stamp, write_csv(*rows));
    if (!replaced) return std::unexpected(replaced.error());
    if (*replaced) return missing;
  }
  return fail("is changed again and again");
}

/// The n-th of equal jobs is the n-th of their rows.
using Numbered = std::pair<std::string, std::size_t>;

constexpr std::size_t kBesideColumns = 6;  // Place, Workload, Name, Status, Run, Job

std::vector<CsvRow> rows_beside(const fs::path& path) {
  const Result<std::string> text = read_file(beside(path), kLargestJobsFile);
  if (!text) return {};
  auto rows = read_csv(*text);
  if (!rows || rows->empty()) return {};
  rows->erase(rows->begin());
  return *std::move(rows);
}

/// Which row beside the file is which job's. Earlier versions wrote no digest, but where a job stood.
std::map<std::size_t, std::size_t> matched(const JobsFile& file, const std::vector<CsvRow>& rows) {
  std::map<Numbered, std::size_t> by_digest;
  std::map<std::string, std::size_t> counts;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].cells.size() == kBesideColumns) by_digest[{rows[i].cells[5], counts[rows[i].cells[5]]++}] = i;
  counts.clear();
  std::map<std::size_t, std::size_t> out;
  for (std::size_t j = 0; j < file.jobs.size(); ++j) {
    const JobRow& job = file.jobs[j];
    const auto found = by_digest.find({job.digest, counts[job.digest]++});
    if (found != by_digest.end()) {
      out[j] = found->second;
      continue;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::vector<std::string>& cells = rows[i].cells;
      if (cells.size() == kBesideColumns - 1 && cells[0] == fmt::format("{}", job.place) &&
          cells[1] == job.spec.workload && cells[2] == job.spec.name)
        out[j] = i;
    }
  }
  return out;
}

/// Only rows of jobs whose status this session wrote are changed: others may be another session's.
Status write_status_beside(const JobsFile& file) {
  std::vector<CsvRow> now = rows_beside(file.path);
  const auto places = matched(file, now);
  std::vector<CsvRow> rows{{{"Place", "Workload", "Name", "Status", "Run", "Job"}, 0}};
  std::set<std::size_t> taken;
  for (std::size_t j = 0; j < file.jobs.size(); ++j) {
    const JobRow& job = file.jobs[j];
    std::string status = job.status;
    std::string run = job.run;
    if (const auto found = places.find(j); found != places.end()) {
      taken.insert(found->second);
      if (!file.changed.contains(j)) {
        status = now[found->second].cells[3];
        run = now[found->second].cells[4];
      }
    }
    rows.push_back(
        {{fmt::format("{}", job.place), job.spec.workload, job.spec.name, status, run, job.digest}, 0});
  }
  // Of jobs that the file has gained since, which another session runs.
  for (std::size_t i = 0; i < now.size(); ++i)
    if (!taken.contains(i) && now[i].cells.size() == kBesideColumns) rows.push_back(std::move(now[i]));
  return write_file(beside(file.path), write_csv(rows));
}

Error left_alone(const JobsFile& file, std::string why) {
  return Error{fmt::format("{}; it is left alone, and statuses are in {}", why, beside(file.path).string()),
               file.path.string(),
               {},
               Error::Kind::unavailable};
}

std::string title_of(const JobRow& job) {
  return job.spec.name.empty() ? fmt::format("row {}", job.place) : quote(job.spec.name);
}

}  // namespace

void read_status_beside(JobsFile& file) {
  const std::vector<CsvRow> rows = rows_beside(file.path);
  for (const auto& [job, row] : matched(file, rows)) {
    file.jobs[job].status = rows[row].cells[3];
    file.jobs[job].run = rows[row].cells[4];
  }
}

Status write_status(JobsFile& file, std::size_t index) {
  file.changed.insert(index);
  const Result<FileLock> lock = FileLock::of_directory(folder_of(target_of(file.path)), kPatience);
  // Where a file system knows no locks, the last writer of two at the same moment wins.
  if (!lock && lock.error().kind == Error::Kind::unavailable) return std::unexpected(lock.error());
  if (file.rows.empty()) return write_status_beside(file);

  std::set<std::size_t> due = file.unmerged;
  due.insert(index);
  const bool told = file.unmerged.contains(index);
  const bool any_beside = !file.unmerged.empty();
  const Result<std::set<std::size_t>> missing = merge_into_csv(file, due);
  file.unmerged = missing ? *missing : due;
  if (file.unmerged.empty()) {
    std::error_code ignored;
    if (any_beside) fs::remove(beside(file.path), ignored);  // all of it is in the file now
    return {};
  }
  PLIMSOLL_TRY(write_status_beside(file));
  if (told || !file.unmerged.contains(index)) return {};
  return std::unexpected(left_alone(
      file, missing ? fmt::format("{} was changed or removed meanwhile", title_of(file.jobs[index]))
                    : missing.error().text()));
}

}  // namespace plimsoll::running
