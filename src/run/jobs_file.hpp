#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/all_errors.hpp"
#include "base/csv.hpp"
#include "base/error.hpp"
#include "run/job.hpp"

namespace plimsoll::running {

/// A job of a file, and what the file says became of it.
struct JobRow {
  JobSpec spec = {};
  std::string status = {};  ///< how it ended the last time; empty: never run
  std::string run = {};     ///< that run
  std::size_t place = 0;    ///< row of the file, from 1
  std::size_t line = 0;     ///< of the file, where it begins
  std::string digest = {};  ///< of the spec as it was read: which job it is, wherever it stands
  friend bool operator==(const JobRow&, const JobRow&) = default;

  [[nodiscard]] bool is_finished() const { return status == "FINISHED"; }
};

/// Jobs in the order of their file, and what is needed to write their status back.
struct JobsFile {
  std::vector<JobRow> jobs;
  std::filesystem::path path = {};
  std::vector<CsvRow> rows = {};  ///< of a CSV: as it was read, header included

  std::set<std::size_t> changed = {};   ///< jobs whose status was written since
  std::set<std::size_t> unmerged = {};  ///< of those, not into the CSV: their rows are no longer there
};

inline constexpr std::size_t kMostJobs = 10'000;
inline constexpr std::size_t kLargestJobsFile = std::size_t{16} << 20;

/// Reads .csv (radT's columns and ours) or .toml. Nothing is started where a row is bad.
[[nodiscard]] AllErrors<JobsFile> read_jobs(const std::filesystem::path& path);
[[nodiscard]] AllErrors<JobsFile> parse_csv_jobs(std::string_view text);
[[nodiscard]] AllErrors<JobsFile> parse_toml_jobs(std::string_view text);

/// Puts status and run id of job number `index` into the file: into its row of a CSV; a TOML file, which
/// people comment, stays as it is, and FILE.status.csv beside it holds them. A file may be edited, and other
/// sessions may write to it, meanwhile: it is read again, and nothing but the cells of that job's row is
/// changed, wherever the row stands now. Where there is no such row any more, or no file that can be read,
/// the file is left alone, FILE.status.csv holds the status, and the error says so, once for each job; a
/// later call makes up for it where the row has come back.
[[nodiscard]] Status write_status(JobsFile& file, std::size_t index);

/// What a CSV's column is called, without case, spaces, '_' and '-'.
[[nodiscard]] std::string plain_title(std::string_view title);
/// What FILE.status.csv says of a TOML file's jobs; what fits none of them is passed over.
void read_status_beside(JobsFile& file);

/// The command's words, quotes and backslashes as in a shell and nothing else of it: no variables, no
/// patterns.
[[nodiscard]] Result<std::vector<std::string>> split_words(std::string_view text,
                                                           std::string_view separators = " \t\n");
/// "90", "90s", "10m", "1.5h"; plain numbers are seconds.
[[nodiscard]] Result<Seconds> parse_duration(std::string_view text);
/// The same, and 0.
[[nodiscard]] Result<Seconds> parse_start(std::string_view text);
/// "4GiB", "4G", "512M", "4 GB" (10^9), plain bytes.
[[nodiscard]] Result<Bytes> parse_size(std::string_view text);
[[nodiscard]] Result<Sharing> parse_sharing(std::string_view text);

}  // namespace plimsoll::running
