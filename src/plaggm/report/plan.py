"""The page of a plan, and the words that it shares with the terminal."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from plaggm.planning import PowerAnalysis, Question
from plaggm.planning.trials import NETWORKS
from plaggm.report.phrases import percent
from plaggm.report.sections import Page, Picture, Section, frame_table

CAUTION = (
    "A plan is as good as its assumptions. Edges that are smaller, or confounding that reaches more pairs, "
    "need more samples: plan again with less favourable assumptions. Rows are taken as independent samples "
    "of Gaussian variables; rows of one person or of a time series hold less."
)


def answer_words(plan: PowerAnalysis) -> tuple[str, ...]:
    """Sentences on the number of samples needed, if all or only unconfounded samples are used."""
    if len(plan.sizes) == 1:
        only = plan.table().set_index("network")["power"]
        return (
            f"{plan.sizes[0]:,} samples have power {only['adjusted']:.2f} with adjustment, and "
            f"{only['clean']:.2f} if only those without confounding are used.",
        )
    needed = plan.samples_for()
    answer = needed.words()
    more = "; give larger numbers with --samples" if math.isinf(needed.samples) else ""
    words = [
        f"{answer[:1].upper()}{answer[1:]} are needed for power {plan.wanted:g}, with adjustment{more}."
    ]
    if plan.question.clean < 1.0:
        words.append(
            f"With only the samples that are not confounded ({percent(plan.question.clean)}), "
            f"{plan.samples_for(network='clean').words()} would have to be measured."
        )
    last = plan.table().query("network == 'unadjusted'").iloc[-1]
    words.append(
        f"Without adjustment {percent(round(last['false_share'], 2))} of the edges declared from "
        f"{plan.sizes[-1]:,} samples would be false."
    )
    return tuple(words)


def assumption_words(question: Question, true_edges: float) -> str:
    """The assumptions of a plan, in one paragraph."""
    threshold = "chosen by the fit" if question.threshold == "auto" else "known to the fit"
    return (
        f"Assumed: {question.p} variables with about {true_edges:.0f} edges "
        f"({percent(question.density)} of the pairs) whose partial correlations are about "
        f"{question.edge:g} in size; {percent(question.clean)} of the samples without confounding; where "
        f"the confounder is largest it changes {percent(question.affected)} of the partial correlations by "
        f"about {question.strength:g}; edges declared at a false discovery rate of {question.fdr:g}; "
        f"threshold of the confounder {threshold}."
    )


def power_table(plan: PowerAnalysis) -> pd.DataFrame:
    """Power and false share of every network, one row for each size."""
    table = plan.table()
    columns: dict[str, object] = {"samples": plan.sizes}
    for network in NETWORKS:
        rows = table[table["network"] == network]
        columns[f"power {network}"] = rows["power"].to_numpy()
        columns[f"false {network}"] = rows["false_share"].to_numpy()
    return pd.DataFrame(columns)


def plan_page(plan: PowerAnalysis, picture: Path) -> Page:
    """The page of a plan: the answer, curves, table and assumptions.

    Parameters
    ----------
    plan : PowerAnalysis
    picture : Path
        PNG of :func:`plaggm.plotting.plot_plan`.
    """
    question = plan.question
    meaning = "; ".join(f"{network}: {words}" for network, words in NETWORKS.items())
    return Page(
        title="How many samples does the study need?",
        kind="plan of a study",
        tiles=(
            (str(question.p), "variables"),
            (percent(question.clean), "without confounding"),
            (f"{question.edge:g}", "size of edges"),
            (str(len(plan.trials)), "simulated studies"),
        ),
        summary=answer_words(plan),
        sections=(
            Section(
                "Power and false discoveries",
                pictures=(
                    Picture(
                        picture,
                        "Mean over the simulated studies; bands are two Monte Carlo standard errors, the "
                        "horizontal lines the power and the false discovery rate that were asked for.",
                    ),
                ),
                tables=(frame_table(power_table(plan).round(3), "plan.csv"),),
                words=(
                    "Power is the share of the true edges that are declared, false the share of the "
                    f"declared edges that are not there. {meaning}.",
                ),
            ),
            Section("Assumptions", (assumption_words(question, plan.true_edges), CAUTION)),
        ),
    )
