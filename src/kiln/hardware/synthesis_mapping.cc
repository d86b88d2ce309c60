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

// Returns a part's file, relative to the work folder. The two mappings of a part have files of
// their own.
std::string FileOf(const std::string& part, const std::set<std::string>& for_speed,
                   std::string_view extension) {
  return fmt::format("{}/{}{}{}", kPartsFolder, part, for_speed.contains(part) ? ".speed" : "",
                     extension);
}

// Maps one part; its files are named after it. Lists the instances of the modules `listed`, which
// are stateless.
StatusOr<ModuleStatistics> MapPart(const MappingPart& part, const PartsMapping& mapping,
                                   const std::set<std::string>& listed) {
  const auto file = [&](std::string_view extension) {
    return FileOf(part.name, mapping.for_speed, extension);
  };
  const std::string input = file(".il"), counts = file(".json"), netlist = file(".v"),
                    instances = file(kInstances);
  YosysRun run;
  run.work = mapping.work;
  run.name = file("");
  run.inputs = fmt::format("{}# design {:016x}\n", mapping.tools, StableHash(part.design));
  run.outputs = {counts, netlist};
  if (!listed.empty()) run.outputs.push_back(instances);
  run.design = mapping.top;
  run.script = fmt::format(
      "read_rtlil {}\n{}clean -purge\nrename {} {}\n{}tee -q -o {} stat -json\nwrite_verilog "
      "-noattr -simple-lhs "
      "{}\n{}",
      input, mapping.commands(part, mapping.for_speed.contains(part.name)), kPartModule, part.name,
      NameInstances(listed), counts, netlist, WriteInstances(listed, instances));
  KILN_RETURN_IF_ERROR(WriteFile(mapping.work / input, part.design));
  KILN_RETURN_IF_ERROR(RunYosys(run));
  KILN_ASSIGN_OR_RETURN(const std::string text,
                        ReadFile(mapping.work / counts, budgets::kNetlistBytes));
  KILN_ASSIGN_OR_RETURN(NetlistStatistics statistics, ParseStatistics(text));
  const auto found = statistics.find(part.name);
  if (found == statistics.end())
    return absl::InternalError("Yosys' statistics have no module " + part.name);
  return std::move(found->second);
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

using Modules = std::set<std::string>;

// The progress at the start of a set of parts.
struct Count {
  int64_t done = 0, waiting = 0;  // parts mapped before, and parts that follow
};

// Maps parts on several threads. `listed` returns the modules whose instances a part lists.
StatusOr<std::vector<ModuleStatistics>> MapAll(
    const std::vector<MappingPart>& parts, const PartsMapping& mapping,
    const std::function<Modules(const MappingPart&)>& listed, const Count& count) {
  const int64_t total = count.done + static_cast<int64_t>(parts.size()) + count.waiting;
  std::vector<StatusOr<ModuleStatistics>> found(parts.size(), ModuleStatistics());
  std::atomic<size_t> next = 0;
  std::atomic<int64_t> done = count.done;
  std::atomic<bool> failed = false;
  // Parts are started in order. If one fails, all before it have been started, so that the first
  // failure is the same in every run.
  const auto work = [&] {
    while (!failed) {
      const size_t i = next++;
      if (i >= parts.size()) return;
      if (mapping.started) mapping.started(parts[i], done, total);
      found[i] = MapPart(parts[i], mapping, listed(parts[i]));
      if (!found[i].ok()) failed = true;
      ++done;
    }
  };
  {
    std::vector<std::jthread> others;
    for (int job = 1; job < mapping.jobs; ++job) others.emplace_back(work);
    work();
  }
  std::vector<ModuleStatistics> statistics;
  for (StatusOr<ModuleStatistics>& one : found) {
    KILN_RETURN_IF_ERROR(one.status());
    statistics.push_back(*std::move(one));
  }
  return statistics;
}

// Maps parts in rounds from the top down: the variants of a stateless part that are needed depend
// on the mapped parts above it.
class PartsMapper {
 public:
  PartsMapper(const std::vector<MappingPart>& parts, const PartsMapping& mapping)
      : parts_(parts), mapping_(mapping) {
    mapped_.for_speed = mapping.for_speed;
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
  std::set<std::string> Listed(const MappingPart& part) const {
    std::set<std::string> listed;
    std::set_intersection(part.below.begin(), part.below.end(), stateless_.begin(),
                          stateless_.end(), std::inserter(listed, listed.end()));
    return listed;
  }

  // Maps one round and evaluates the instances in it.
  Status MapNext(const std::vector<MappingPart>& parts, int64_t waiting) {
    const Count count{.done = static_cast<int64_t>(mapped_.names.size()), .waiting = waiting};
    const auto listed = [this](const MappingPart& part) { return Listed(part); };
    KILN_ASSIGN_OR_RETURN(std::vector<ModuleStatistics> found,
                          MapAll(parts, mapping_, listed, count));
    for (size_t i = 0; i < parts.size(); ++i) {
      mapped_.names.push_back(parts[i].name);
      mapped_.statistics[parts[i].name] = std::move(found[i]);
      if (!Listed(parts[i]).empty()) KILN_RETURN_IF_ERROR(ChooseBelow(parts[i]));
    }
    return OkStatus();
  }

  // Selects the variant of each instance in a mapped part, and records the variants to map.
  Status ChooseBelow(const MappingPart& part) {
    KILN_ASSIGN_OR_RETURN(
        const std::string text,
        ReadFile(mapping_.work / FileOf(part.name, mapping_.for_speed, kInstances),
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
  const auto none = [](const MappingPart&) { return Modules(); };
  KILN_ASSIGN_OR_RETURN(std::vector<ModuleStatistics> found, MapAll(parts, mapping, none, {}));
  NetlistStatistics statistics;
  for (size_t i = 0; i < parts.size(); ++i) statistics[parts[i].name] = std::move(found[i]);
  return statistics;
}

StatusOr<std::string> NetlistOf(const MappedParts& mapped, const std::string& part,
                                const fs::path& work) {
  KILN_ASSIGN_OR_RETURN(std::string netlist, ReadFile(work / FileOf(part, mapped.for_speed, ".v"),
                                                      budgets::kNetlistBytes));
  const auto replaced = mapped.replaced.find(part);
  if (replaced == mapped.replaced.end()) return netlist;
  return ReplaceInstances(netlist, replaced->second);
}

}  // namespace kiln::hardware
