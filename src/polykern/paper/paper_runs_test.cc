#include "polykern/paper/paper_runs.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"
#include "polykern/paper/naval_testing.h"
#include "polykern/sim/ranks/thread_ranks_testing.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(PaperRunsOfNaval, GiveWhatTheExperimentGives) {
  PaperRuns runs = New();
  runs.Want(naval_, Ofskl());
  runs.Want(naval_, Pof(true));
  EXPECT_EQ(runs.Prepare(false).kept, 0U);
  runs.Run();
  SourceOptions source_options;
  source_options.data = {"naval"};
  source_options.data_dir = folder_.path();
  source_options.seed = 3;
  const Source source = OpenSource(source_options);
  for (const WantedRun& wanted : {Ofskl(), Pof(true)}) {
    ExperimentOptions options = options_;
    options.carry_weights = wanted.carried;
    Progress progress;
    const RowResult expected = RunExperiment(*source.stream, {wanted.row}, options, progress)[0];
    const PaperRun run = runs.Of(naval_, wanted);
    EXPECT_EQ(run.mse.mean, expected.mse.mean);
    EXPECT_EQ(run.mse.deviation, expected.mse.deviation);
    EXPECT_EQ(run.regret.mean, expected.regret.mean);
    EXPECT_EQ(run.steps, 500U);
    EXPECT_EQ(run.repetitions, 2U);
    EXPECT_FALSE(run.diverged);
    EXPECT_EQ(run.curve_steps.size(), 500U);
    EXPECT_EQ(run.curve_regret.back(), expected.step_regret.back());
  }
}

TEST_F(PaperRunsOfNaval, AreMadeOnceAndKept) {
  PaperRuns first = New();
  first.Want(naval_, Ofskl());
  first.Want(naval_, Pof(false));
  first.Want(naval_, Ofskl());  // of another table
  EXPECT_EQ(first.Prepare(false).wanted, 2U);
  EXPECT_THAT(first.Look().what, HasSubstr("0 of 2 runs done"));
  first.Run();
  EXPECT_NEAR(first.Look().part, 1, 1e-12);
  EXPECT_THAT(first.Look().what, HasSubstr("2 of 2 runs done"));
  EXPECT_FALSE(fs::exists(folder_.At("partial")));

  PaperRuns second = New();
  second.Want(naval_, Ofskl());
  second.Want(naval_, Pof(true));
  const auto prepared = second.Prepare(false);
  EXPECT_EQ(prepared.kept, 1U);
  EXPECT_TRUE(prepared.damaged.empty());
  second.Run();
  EXPECT_EQ(second.Of(naval_, Ofskl()).mse.mean, first.Of(naval_, Ofskl()).mse.mean);

  PaperRuns fresh = New();
  fresh.Want(naval_, Ofskl());
  EXPECT_EQ(fresh.Prepare(true).kept, 0U);
}

TEST_F(PaperRunsOfNaval, ThatAreDamagedAreMadeAgain) {
  PaperRuns first = New();
  first.Want(naval_, Ofskl());
  first.Prepare(false);
  first.Run();
  const fs::path kept = fs::directory_iterator(folder_.At("runs"))->path();
  EXPECT_THAT(kept.filename().string(), StartsWith("naval-ofskl-"));
  std::ofstream(kept) << "{";
  PaperRuns second = New();
  second.Want(naval_, Ofskl());
  const auto prepared = second.Prepare(false);
  EXPECT_EQ(prepared.kept, 0U);
  EXPECT_THAT(prepared.damaged, ElementsAre(kept.string()));
  second.Run();
  EXPECT_EQ(second.Of(naval_, Ofskl()).mse.mean, first.Of(naval_, Ofskl()).mse.mean);
}

TEST_F(PaperRunsOfNaval, SayHowEachIsMadeAlone) {
  PaperRuns runs = New();
  runs.Want(naval_, Ofskl());
  runs.Want(naval_, Pof(true));
  runs.Prepare(false);
  runs.Run();
  const auto json = nlohmann::json::parse(runs.Json("polykern reproduce", {}));
  EXPECT_EQ(json["command"], "polykern reproduce");
  ASSERT_EQ(json["data"].size(), 1U);
  EXPECT_EQ(json["data"][0]["folder"], folder_.path());
  ASSERT_EQ(json["runs"].size(), 2U);
  EXPECT_EQ(json["runs"][0]["data"], "naval");
  EXPECT_EQ(json["runs"][0]["command"],
            "polykern run --data naval --data-dir " + folder_.path() +
                " --algorithm ofskl --features 100 --weights reset --repetitions 2 --seed 3");
  EXPECT_EQ(json["runs"][1]["command"],
            "polykern run --data naval --data-dir " + folder_.path() +
                " --algorithm pof-mkl --kernels-per-upload 51 --exploration 1 --features 9"
                " --weights carried --repetitions 2 --seed 3");
}

TEST_F(PaperRunsOfNaval, RefuseABadExperimentBeforeTheyStart) {
  options_.repetitions = 0;
  PaperRuns runs = New();
  runs.Want(naval_, Ofskl());
  EXPECT_THAT(MessageOf([&] { runs.Prepare(false); }), HasSubstr("repetitions is 0"));
}

TEST_F(PaperRunsOfNaval, AreTheSameOnSeveralRanks) {
  PaperRuns alone = New();
  alone.Want(naval_, Pof(true));
  alone.Prepare(true);
  alone.Run();
  const PaperRun expected = alone.Of(naval_, Pof(true));
  RunRanks(2, [&](Communicator& rank) {
    PaperRuns runs = On(rank);
    runs.Want(naval_, Pof(true));
    runs.Want(naval_, Ofskl());
    EXPECT_EQ(runs.Prepare(false).kept, 1U);  // rank 0 tells the other
    runs.Run();
    EXPECT_THAT(runs.Look().what, HasSubstr("1 of 1 run done"));
  });
  RunRanks(2, [&](Communicator& rank) {
    PaperRuns runs = On(rank);
    runs.Want(naval_, Pof(true));
    EXPECT_EQ(runs.Prepare(true).kept, 0U);
    runs.Run();
    if (rank.rank() != 0) return;
    const PaperRun run = runs.Of(naval_, Pof(true));
    EXPECT_EQ(run.mse.mean, expected.mse.mean);
    EXPECT_EQ(run.regret.deviation, expected.regret.deviation);
    EXPECT_EQ(run.curve_regret, expected.curve_regret);
  });
}

/// A device that has one algorithm, and fails at that.
class PartialDevice final : public FleetDevice {
 public:
  std::string name() const override { return "partial"; }
  std::string id() const override { return "partial-0"; }
  void Check(const Algorithm& algorithm) const override {
    if (algorithm.name() != "pof-mkl") throw Error("this has no form on the device");
  }
  void CheckRoom(const Algorithm&, std::size_t, bool) const override {}
  DeviceFloors MeasureFloors() const override { return {}; }
  std::unique_ptr<FleetData> Load(const Stream&, const ClientRange&,
                                  const Attendance&) const override {
    throw DeviceFailure("the device was asked");
  }
};

TEST_F(PaperRunsOfNaval, UseADeviceForTheAlgorithmsThatItHas) {
  const PartialDevice device;
  const auto alone = RunAlone();
  const auto runs_on = [&](const std::string& folder) {
    return PaperRuns(options_, folder_.path(), RunStore(folder_.At(folder)),
                     RunStore(folder_.At(folder + "-partial")), *alone, &device);
  };
  PaperRuns others = runs_on("others");
  others.Want(naval_, Ofskl());
  others.Prepare(false);
  others.Run();  // on the CPU
  PaperRuns runs = runs_on("pof");
  runs.Want(naval_, Pof(false));
  runs.Prepare(false);
  EXPECT_THROW(runs.Run(), DeviceFailure);
}

TEST_F(PaperRunsOfNaval, HaveNoRegretWithoutExperts) {
  options_.repetitions = 1;
  const WantedRun perfedavg = {PaperRows()[1].row, false};
  PaperRuns runs = New();
  runs.Want(naval_, perfedavg);
  runs.Prepare(false);
  runs.Run();
  EXPECT_TRUE(std::isnan(runs.Of(naval_, perfedavg).regret.mean));
  EXPECT_THAT(runs.Json("", {}), HasSubstr(" --meta-rate 0.0447 --weights reset "));
}

}  // namespace
}  // namespace polykern
