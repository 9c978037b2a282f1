"""Forecast waits of jobs from what is known at their submission, with tested intervals."""

from philly_analysis.forecasts.backtest import CHOSEN, LEAST_JOBS, Backtest, backtest
from philly_analysis.forecasts.believed import Believed
from philly_analysis.forecasts.completion import (
    completion_sentence,
    completion_times,
    draw_completion,
    passed_runs,
    run_times_by_gang,
)
from philly_analysis.forecasts.distribution import SOON_S, WaitDistribution
from philly_analysis.forecasts.forecast import Forecast, backtest_sentences
from philly_analysis.forecasts.forecaster import Forecaster, Request
from philly_analysis.forecasts.parsing import moment_s, time_limit_s
from philly_analysis.forecasts.queue import Queue, check_waits, read_queue
from philly_analysis.forecasts.scaling import ScaledRuns, scaled_runs
from philly_analysis.forecasts.state import submission_states
from philly_analysis.forecasts.week import DAYS, week_table
