// One network on many design points: which meet a limit of time, and how they rank. Written as
// text, JSON and an HTML page with a picture of energy over time. The command `kiln sweep` fills
// the table.
#ifndef KILN_REPORT_SWEEP_TABLE_H_
#define KILN_REPORT_SWEEP_TABLE_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/report/saved_run.h"

namespace kiln {

// What design points are ranked by. All but the rate are better if they are lower.
enum class SweepRank { kEnergy, kTime, kEdp, kArea, kRate };

// Finds a rank by its name: energy, time, edp (energy times time), area, rate (images a second).
StatusOr<SweepRank> FindSweepRank(std::string_view name);

struct SweepTable {
  // Whether a design point takes part in the ranking, and if not, why.
  enum class Standing {
    kRanked,
    kTooSlow,     // an image takes longer than the limit
    kMoreOnHost,  // the host does more of the operations than beside another design point; such
                  // rows are ranked with any_host
    kUnknown,     // the models do not give the figure that is ranked, or the time to be limited
    kFailed,      // the network does not compile, or the design point has a fault
  };
  struct Row {
    std::string design_point;  // its name
    std::string source;        // its file, or the one that it is a variant of
    std::vector<std::pair<std::string, std::string>> varied = {};  // keys of a variant, values
    std::optional<SavedRun> run;                                   // absent if the run failed
    std::string fault;                                             // why it failed
    std::vector<std::string> notes;                                // the run's own
    Standing standing = Standing::kFailed;
    // No other ranked design point is at least as good in time, energy and area and better in one.
    bool efficient = false;
  };
  std::string model, data, memory, objective;  // memory: "ideal", or as --memory names it
  SweepRank rank = SweepRank::kEnergy;
  std::optional<double> limit_seconds;  // from the start of an image to its end
  bool any_host = false;
  int node_nm = 0;                 // of areas and energies
  std::vector<Row> rows;           // after Rank: the best first
  std::vector<std::string> notes;  // of all runs

  // Sets the standing of each row that has run, and sorts: ranked rows from the best to the worst,
  // then the others by standing and figure. Rows with the same figure are in the order of time,
  // energy and area.
  void Rank();
};

// Formats one line per design point: time, rate, energy, area, clock and accuracy, with "*" for
// those that are efficient. The reasons of rows that are not ranked follow.
std::string ToText(const SweepTable& table);
// Formats the table as JSON. Figures that are not known are null.
std::string ToJson(const SweepTable& table);
// Formats the table as one HTML page without scripts.
std::string ToHtml(const SweepTable& table);

}  // namespace kiln

#endif  // KILN_REPORT_SWEEP_TABLE_H_
