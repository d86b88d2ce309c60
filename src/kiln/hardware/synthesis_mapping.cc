// Runs Yosys on parts, in parallel and with reuse of earlier results, and decides from mapped parts
// which variants of stateless parts are needed.

#include "kiln/hardware/synthesis_mapping.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/synthesis.h"
#include "kiln/support/budgets.h"
#include "kiln/support/check.h"
#include "kiln/support/file.h"
#include "kiln/support/hash.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;

// Returns whether an earlier run with the same recipe (inputs and script) left all outputs.
bool IsDone(const fs::path& mark, const std::string& recipe, const fs::path& work,
            const std::vector<std::string>& outputs) {
  std::error_code ignored;
  for (const std::string& output : outputs) {
    if (!fs::exists(work / output, ignored)) return false;
  }
  if (!fs::exists(mark, ignored)) return false;
  const auto before = ReadFile(mark, recipe.size());
  return before.ok() && *before == recipe;
}

constexpr const char* kInstances = ".instances";

// Small parts share a run up to these sizes. A run takes about as long as a large part.
constexpr size_t kSmallPartBytes = size_t{64} << 10, kSharedRunBytes = size_t{256} << 10;
constexpr size_t kPartsOfRun = 16;

// Parts that one run of Yosys maps.
struct MappingRun {
  std::vector<const MappingPart*> parts;
  std::vector<std::string> files;  // without extension, relative to the work folder

  bool is_shared() const { return parts.size() > 1; }
};

// Divides parts into runs, in their order. A part has a run of its own if it is large, has commands
// of its own or would be alone in its run.
std::vector<MappingRun> RunsOf(const std::vector<MappingPart>& parts, const PartsMapping& mapping) {
  std::vector<MappingRun> runs;
  MappingRun shared;
  size_t shared_bytes = 0;  // of its designs
  const auto end_run = [&] {
    if (!shared.parts.empty()) runs.push_back(std::exchange(shared, {}));
    shared_bytes = 0;
  };
  for (const MappingPart& part : parts) {
    const size_t bytes = part.design.size();
    if (mapping.shared_commands.empty() || part.large || part.name == mapping.top ||
        mapping.for_speed.contains(part.name) || bytes > kSmallPartBytes) {
      runs.push_back({.parts = {&part}, .files = {}});
      continue;
    }
    if (shared.parts.size() == kPartsOfRun || shared_bytes + bytes > kSharedRunBytes) end_run();
    shared.parts.push_back(&part);
    shared_bytes += bytes;
  }
  end_run();
  // The mappings of a part for area, for speed and in shared runs have files of their own.
  for (MappingRun& run : runs) {
    std::string suffix;
    if (run.is_shared()) {
      uint64_t hash = StableHash("");
      for (const MappingPart* part : run.parts) hash = StableHash(part->design, hash);
      suffix = fmt::format(".{:016x}", hash);
    } else if (mapping.for_speed.contains(run.parts[0]->name)) {
      suffix = ".speed";
    }
    for (const MappingPart* part : run.parts)
      run.files.push_back(
          fmt::format("{}/{}{}{}", kPartsFolder, part->name, mapping.suffix, suffix));
  }
  return runs;
}

// Returns the stateless modules whose instances a part lists.
using Listed = std::function<std::set<std::string>(const MappingPart&)>;

// Returns the commands that write the results of a part, which is the only module of the design
// that is not a black box.
std::string OutputCommands(const std::string& file, const std::set<std::string>& listed) {
  return fmt::format(
      "{0}tee -q -o {1}.json stat -json\nwrite_verilog -noattr -simple-lhs {1}.v\n{2}",
      NameInstances(listed), file, WriteInstances(listed, file + kInstances));
}

// Returns the script of a part's own run.
std::string ScriptOf(const MappingPart& part, const std::string& file, const PartsMapping& mapping,
                     const Listed& listed) {
  return fmt::format("read_rtlil {}.il\n{}clean -purge\nrename {} {}\n{}", file,
                     mapping.commands(part, mapping.for_speed.contains(part.name)), kPartModule,
                     part.name, OutputCommands(file, listed(part)));
}

// Returns the script of a shared run. A part keeps another name until all are mapped, so that the
// black box of a part is not confused with the part itself.
std::string SharedScriptOf(const MappingRun& run, const PartsMapping& mapping,
                           const Listed& listed) {
  constexpr const char* kAll = "all";
  std::string script;
  const auto name = [](size_t i) { return fmt::format("{}${}", kPartModule, i); };
  for (size_t i = 0; i < run.parts.size(); ++i) {
    script += fmt::format(
        "read_rtlil -nooverwrite {0}.il\nselect -module {1}\nflatten\nselect -clear\n"
        "delete {2}\nrename {1} {3}\n",
        run.files[i], kPartModule, kInsideModules, name(i));
  }
  script += fmt::format("{}clean -purge\ndesign -save {}\n", mapping.shared_commands, kAll);
  for (size_t i = 0; i < run.parts.size(); ++i) {
    const MappingPart& part = *run.parts[i];
    script += "design -reset\n";
    for (const std::string& box : part.below)
      script += fmt::format("design -copy-from {} {}\n", kAll, box);
    // `stat -json` of Yosys 0.23 writes no valid JSON of a design without a top.
    script += fmt::format("design -copy-from {0} -as {1} {2}\nsetattr -mod -set top 1 {1}\n{3}",
                          kAll, part.name, name(i), OutputCommands(run.files[i], listed(part)));
  }
  return script;
}

// Performs a run of Yosys and returns the statistics of its parts.
StatusOr<std::vector<ModuleStatistics>> Perform(const MappingRun& run, const PartsMapping& mapping,
                                                const Listed& listed) {
  YosysRun yosys;
  yosys.work = mapping.work;
  yosys.name = run.files.front();
  yosys.inputs = mapping.tools;
  yosys.design = mapping.top;
  yosys.script = run.is_shared() ? SharedScriptOf(run, mapping, listed)
                                 : ScriptOf(*run.parts[0], run.files[0], mapping, listed);
  for (size_t i = 0; i < run.parts.size(); ++i) {
    const std::string& file = run.files[i];
    const MappingPart& part = *run.parts[i];
    yosys.inputs += fmt::format("# design {:016x}\n", StableHash(part.design));
    for (const char* extension : {".json", ".v"}) yosys.outputs.push_back(file + extension);
    if (!listed(part).empty()) yosys.outputs.push_back(file + kInstances);
    KILN_RETURN_IF_ERROR(WriteFile(mapping.work / (file + ".il"), part.design));
  }
  KILN_RETURN_IF_ERROR(RunYosys(yosys));
  std::vector<ModuleStatistics> found;
  for (size_t i = 0; i < run.parts.size(); ++i) {
    KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(mapping.work / (run.files[i] + ".json"),
                                                           budgets::kNetlistBytes));
    KILN_ASSIGN_OR_RETURN(NetlistStatistics statistics, ParseStatistics(text));
    const auto part = statistics.find(run.parts[i]->name);
    if (part == statistics.end())
      return absl::InternalError("Yosys' statistics have no module " + run.parts[i]->name);
    found.push_back(std::move(part->second));
  }
  return found;
}

// Returns an error message of Yosys with the link to the sources replaced by their folder.
std::string WithSources(std::string fault, const fs::path& sources) {
  const std::string link = std::string(kSourcesLink) + '/', folder = (sources / "").string();
  for (size_t at = fault.find(link); at != std::string::npos; at = fault.find(link, at)) {
    const bool begins_a_word =
        at == 0 || fault[at - 1] == ' ' || fault[at - 1] == '`' || fault[at - 1] == '\'';
    if (begins_a_word) fault.replace(at, link.size(), folder);
    at += begins_a_word ? folder.size() : link.size();
  }
  return fault;
}

}  // namespace

Status RunYosys(const YosysRun& run) {
  const auto file = [&run](const char* extension) { return run.work / (run.name + extension); };
  // The .done file holds the recipe of the present outputs. It is removed first and written last,
  // so that an interrupted run is repeated.
  const std::string recipe = run.inputs + run.script;
  if (IsDone(file(".done"), recipe, run.work, run.outputs)) return OkStatus();
  std::error_code ignored;
  fs::remove(file(".done"), ignored);
  KILN_RETURN_IF_ERROR(WriteFile(file(".ys"), run.script));
  const Status status = RunProgram({"yosys", "-q", "-s", run.name + ".ys"}, file(".log"), run.work);
  if (status.ok()) return WriteFile(file(".done"), recipe);
  const auto text = ReadFile(file(".log"));
  const std::string fault = text.ok() ? YosysError(*text) : "";
  return fault.empty()
             ? status
             : ErrorAt("yosys", "module " + run.design, WithSources(fault, run.sources), "");
}

namespace {

// The progress at the start of a set of parts.
struct Count {
  int64_t done = 0, waiting = 0;  // parts mapped before, and parts that follow
};

// A mapped part and its files, as in MappedParts::files.
struct MappedPart {
  const MappingPart* part = nullptr;
  std::string file;
  ModuleStatistics statistics;
};

// Maps parts on several threads. Returns them in the order of their runs.
StatusOr<std::vector<MappedPart>> MapAll(const std::vector<MappingPart>& parts,
                                         const PartsMapping& mapping, const Listed& listed,
                                         const Count& count) {
  using Statistics = std::vector<ModuleStatistics>;
  const int64_t total = count.done + static_cast<int64_t>(parts.size()) + count.waiting;
  const std::vector<MappingRun> runs = RunsOf(parts, mapping);
  std::vector<StatusOr<Statistics>> found(runs.size(), Statistics());
  std::atomic<size_t> next = 0;
  std::atomic<int64_t> done = count.done;
  std::atomic<bool> failed = false;
  // Runs are started in order. If one fails, all before it have been started, so that the first
  // failure is the same every time.
  const auto work = [&] {
    while (!failed) {
      const size_t i = next++;
      if (i >= runs.size()) return;
      if (mapping.started) mapping.started(*runs[i].parts.front(), done, total);
      found[i] = Perform(runs[i], mapping, listed);
      if (!found[i].ok()) failed = true;
      done += static_cast<int64_t>(runs[i].parts.size());
    }
  };
  {
    std::vector<std::jthread> others;
    for (int job = 1; job < mapping.jobs; ++job) others.emplace_back(work);
    work();
  }
  std::vector<MappedPart> mapped;
  for (size_t i = 0; i < runs.size(); ++i) {
    KILN_ASSIGN_OR_RETURN(Statistics statistics, std::move(found[i]));
    for (size_t j = 0; j < statistics.size(); ++j)
      mapped.push_back({runs[i].parts[j], runs[i].files[j], std::move(statistics[j])});
  }
  return mapped;
}

// Maps parts in rounds from the top down: the variants of a stateless part that are needed depend
// on the mapped parts above it.
class PartsMapper {
 public:
  PartsMapper(const std::vector<MappingPart>& parts, const PartsMapping& mapping)
      : parts_(parts), mapping_(mapping) {
    for (const MappingPart& part : parts) {
      if (part.stateless) stateless_.insert(part.name);
    }
  }

  // Maps all parts with state in the first round, then the stateless ones.
  StatusOr<MappedParts> Map() {
    std::vector<MappingPart> next;
    std::vector<const MappingPart*> waiting;
    for (const MappingPart& part : parts_) {
      if (part.stateless) {
        waiting.push_back(&part);
      } else {
        next.push_back(part);
      }
    }
    for (;;) {
      KILN_RETURN_IF_ERROR(MapNext(next, static_cast<int64_t>(waiting.size())));
      if (waiting.empty()) return std::move(mapped_);
      // The next round: parts that no other waiting part can instantiate.
      std::set<std::string> used;
      for (const MappingPart* part : waiting) used.insert(part->below.begin(), part->below.end());
      std::vector<const MappingPart*> ready;
      std::erase_if(waiting, [&](const MappingPart* part) {
        if (!used.contains(part->name)) ready.push_back(part);
        return !used.contains(part->name);
      });
      KILN_CHECK(!ready.empty());
      next.clear();
      for (const MappingPart* part : ready) {
        for (auto& [name, wanted] : wanted_[part->name]) next.push_back(std::move(wanted));
      }
    }
  }

 private:
  // Returns the stateless parts that a part may instantiate.
  std::set<std::string> StatelessBelow(const MappingPart& part) const {
    std::set<std::string> listed;
    std::set_intersection(part.below.begin(), part.below.end(), stateless_.begin(),
                          stateless_.end(), std::inserter(listed, listed.end()));
    return listed;
  }

  // Maps one round and evaluates the instances in it.
  Status MapNext(const std::vector<MappingPart>& parts, int64_t waiting) {
    const Count count{.done = static_cast<int64_t>(mapped_.names.size()), .waiting = waiting};
    const auto listed = [this](const MappingPart& part) { return StatelessBelow(part); };
    KILN_ASSIGN_OR_RETURN(std::vector<MappedPart> found, MapAll(parts, mapping_, listed, count));
    for (MappedPart& one : found) {
      const std::string& name = one.part->name;
      mapped_.names.push_back(name);
      mapped_.files[name] = one.file;
      mapped_.statistics[name] = std::move(one.statistics);
      if (!StatelessBelow(*one.part).empty()) KILN_RETURN_IF_ERROR(ChooseBelow(*one.part));
    }
    return OkStatus();
  }

  // Selects the variant of each instance in a mapped part, and records the variants to map.
  Status ChooseBelow(const MappingPart& part) {
    KILN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(mapping_.work / (mapped_.files.at(part.name) + kInstances),
                                   budgets::kNetlistBytes));
    KILN_ASSIGN_OR_RETURN(const std::vector<MappedInstance> instances, ParseInstances(text));
    for (const MappedInstance& instance : instances) {
      const auto whole = std::find_if(parts_.begin(), parts_.end(), [&](const MappingPart& below) {
        return below.name == instance.module;
      });
      KILN_CHECK(whole != parts_.end());
      MappingPart wanted =
          HasManyConstants(instance) ? WithConstants(*whole, instance.inputs) : *whole;
      if (wanted.name != whole->name) {
        mapped_.replaced[part.name].push_back({instance.name, whole->name, wanted.name});
        std::map<std::string, int64_t>& cells = mapped_.statistics[part.name].cells;
        if (--cells[whole->name] == 0) cells.erase(whole->name);
        ++cells[wanted.name];
      }
      wanted_[whole->name].try_emplace(wanted.name, std::move(wanted));
    }
    return OkStatus();
  }

  const std::vector<MappingPart>& parts_;
  const PartsMapping& mapping_;
  std::set<std::string> stateless_;  // names of the stateless parts
  MappedParts mapped_;
  // The wanted variants of each stateless part, by name.
  std::map<std::string, std::map<std::string, MappingPart>> wanted_;
};

}  // namespace

StatusOr<MappedParts> MapParts(const std::vector<MappingPart>& parts, const PartsMapping& mapping) {
  return PartsMapper(parts, mapping).Map();
}

StatusOr<NetlistStatistics> MapWhole(const std::vector<MappingPart>& parts,
                                     const PartsMapping& mapping) {
  const auto none = [](const MappingPart&) { return std::set<std::string>(); };
  KILN_ASSIGN_OR_RETURN(std::vector<MappedPart> found, MapAll(parts, mapping, none, {}));
  NetlistStatistics statistics;
  for (MappedPart& one : found) statistics[one.part->name] = std::move(one.statistics);
  return statistics;
}

StatusOr<std::string> NetlistOf(const MappedParts& mapped, const std::string& part,
                                const fs::path& work) {
  KILN_ASSIGN_OR_RETURN(std::string netlist,
                        ReadFile(work / (mapped.files.at(part) + ".v"), budgets::kNetlistBytes));
  const auto replaced = mapped.replaced.find(part);
  if (replaced == mapped.replaced.end()) return netlist;
  return ReplaceInstances(netlist, replaced->second);
}

}  // namespace kiln::hardware
