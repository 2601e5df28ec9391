//! Real senders and receivers in two namespaces, joined by a plain veth pair.

mod lab;

use std::time::Instant;

use bloatlab_live::{FlowKind, Program, Streams};
use bloatlab_sim::{Order, Report};
use bloatlab_units::SECOND;
use lab::{Lab, PATIENCE, PROMPT, Reports, reno, spec};

fn open(connection: u64, from: usize) -> Order {
    Order::Open {
        flow: 0,
        connection,
        from,
    }
}

fn write(bytes: u64, last: bool) -> Order {
    Order::Write {
        flow: 0,
        bytes,
        last,
    }
}

#[test]
fn an_endless_flow_moves_data_until_it_stops() {
    let Some(mut lab) = Lab::new(reno()) else {
        return;
    };
    lab.hosts.send(&[open(0, 0), write(u64::MAX, false)]);
    lab.until("the flow is seen to move data", |reports| {
        reports.read(0, 1) > 10_000_000 && reports.state(0).is_some_and(|state| state.arrived > 0)
    });
    assert!(lab.output(0, "ss -tinH").contains(" reno "));
    for end in 0..2 {
        assert!(lab.output(end, "ss -tinH --tos").contains("tos:0x28"));
    }
    let state = Reports(&lab.reports).state(0).unwrap();
    assert!(state.cwnd > 0 && state.srtt > 0 && state.min_rtt > 0);
    assert!(state.segments > 0 && state.arrived <= state.bytes_sent);
    lab.hosts.send(&[Order::Stop { flow: 0 }]);
    lab.until("all that was written has arrived", |reports| {
        let read = reports.read(0, 1);
        read == reports.written() && reports.arrived(0, read)
    });
    assert_eq!(Reports(&lab.reports).read(0, 0), 0);
    assert!(!Reports(&lab.reports).has_failed());
    let times = lab.reports.iter().filter_map(|report| match *report {
        Report::Read { at, .. } | Report::Written { at, .. } | Report::Observed { at, .. } => {
            Some(at)
        }
        _ => None,
    });
    assert!(times.is_sorted());
}

#[test]
fn a_finite_flow_completes_exactly() {
    let Some(mut lab) = Lab::new(reno()) else {
        return;
    };
    // The application writes before it opens the connection.
    lab.hosts.send(&[write(3_000_001, true), open(0, 0)]);
    lab.until("all has arrived", |reports| reports.arrived(0, 3_000_001));
    let reports = Reports(&lab.reports);
    assert_eq!((reports.read(0, 1), reports.written()), (3_000_001, 0));
    assert_eq!(reports.state(0).unwrap().syn_repeats, 0);
    assert!(!reports.has_failed());
}

#[test]
fn a_client_fetches_pages_over_new_connections() {
    let Some(mut lab) = Lab::new(reno()) else {
        return;
    };
    for connection in 0..3 {
        let request = Order::Request {
            flow: 0,
            bytes: 200,
        };
        lab.hosts.send(&[request, open(connection, 1)]);
        lab.until("the server has the request", |reports| {
            reports.read(connection, 0) == 200
        });
        lab.hosts.send(&[write(100_000, false)]);
        lab.until("the client has the page", |reports| {
            reports.read(connection, 1) == 100_000
        });
        assert!(lab.output(0, "ss -tinH").contains(" reno "));
        lab.hosts.send(&[Order::Forget { flow: 0 }]);
        lab.until("the last observation", |reports| {
            reports.arrived(connection, 100_000)
        });
    }
    assert!(!Reports(&lab.reports).has_failed());
}

#[test]
fn a_connection_to_an_unreachable_host_fails() {
    let Some(mut lab) = Lab::new(reno()) else {
        return;
    };
    lab.output(0, "ip route add unreachable 10.64.0.2");
    lab.hosts.send(&[write(1, true), open(7, 0)]);
    lab.until("the connection has failed", |reports| reports.has_failed());
    let failed = Report::Failed {
        flow: 0,
        connection: 7,
    };
    assert_eq!(lab.reports.last(), Some(&failed));
}

#[test]
fn repeated_syns_are_no_retransmissions() {
    let Some(mut lab) = Lab::new(reno()) else {
        return;
    };
    // The other host drops the first SYN, because it has no way to answer.
    lab.output(1, "ip route add blackhole 10.64.0.1");
    lab.hosts.send(&[write(1, true), open(0, 0)]);
    lab.until("the SYN was repeated", |reports| {
        reports.state(0).is_some_and(|state| state.syn_repeats > 0)
    });
    lab.output(1, "ip route delete blackhole 10.64.0.1");
    lab.until("all has arrived", |reports| reports.arrived(0, 1));
    let state = Reports(&lab.reports).state(0).unwrap();
    assert!(state.syn_repeats > 0);
    assert_eq!((state.retransmissions, state.rtos), (0, 0));
}

#[test]
fn a_reset_connection_fails() {
    let Some(mut lab) = Lab::new(reno()) else {
        return;
    };
    lab.hosts.send(&[open(0, 0), write(u64::MAX, false)]);
    lab.until("the flow moves data", |reports| reports.read(0, 1) > 0);
    lab.output(1, "ss -K dport > 0");
    if !lab.output(1, "ss -tinH").is_empty() {
        return eprintln!("skipped: this kernel cannot reset connections of others");
    }
    lab.until("the connection has failed", |reports| reports.has_failed());
    let reports = Reports(&lab.reports);
    assert!(reports.read(0, 1) <= reports.state(0).unwrap().arrived);
}

#[test]
fn a_program_runs_at_end_1_until_it_is_stopped() {
    let output = std::env::temp_dir().join(format!("bloatlab-hosts-{}", std::process::id()));
    let script = "ip -o -4 address show dev host; echo $BLOATLAB_SERVER.; exec sleep 1000";
    let kind = FlowKind::Program(Program {
        words: ["sh", "-c", script].map(String::from).to_vec(),
        variables: vec![("BLOATLAB_SERVER".into(), "10.64.0.1".into())],
        streams: Streams::File(output.clone()),
    });
    let Some(mut lab) = Lab::new(kind) else {
        return;
    };
    lab.hosts.send(&[Order::Start { flow: 0 }]);
    let printed = || std::fs::read_to_string(&output).unwrap_or_default();
    lab.until("the program has printed", |_| printed().ends_with(".\n"));
    let [server, client] = lab.ends.each_ref().map(|end| end.address.to_string());
    assert!(printed().contains(&client));
    assert!(printed().ends_with(&format!("{server}.\n")));
    lab.hosts.send(&[Order::Stop { flow: 0 }]);
    lab.hosts.stop();
    std::fs::remove_file(&output).unwrap();
}

#[test]
fn a_client_reports_its_fetches_and_its_end() {
    let script = "echo 0.25; echo failed; echo 1; exit 3";
    let kind = FlowKind::Program(Program {
        words: ["sh", "-c", script].map(String::from).to_vec(),
        variables: Vec::new(),
        streams: Streams::Fetches,
    });
    let Some(mut lab) = Lab::new(kind) else {
        return;
    };
    lab.hosts.send(&[Order::Start { flow: 0 }]);
    lab.until("the client has ended", |reports| reports.0.len() == 4);
    let mut took = Vec::new();
    let mut codes = Vec::new();
    for report in &lab.reports {
        match *report {
            Report::Fetched { took: one, .. } => took.push(one),
            Report::Ended { code, .. } => codes.push(code),
            ref other => panic!("{other:?}"),
        }
    }
    assert_eq!(took, [Some(SECOND / 4), None, Some(SECOND)]);
    assert_eq!(codes, [3]);
}

#[test]
fn datagrams_arrive_with_plausible_times() {
    let Some(mut lab) = Lab::new(FlowKind::Udp) else {
        return;
    };
    for seq in 0..50 {
        lab.hosts.send(&[Order::Datagram {
            flow: 0,
            size: 20 + 20 * seq,
            seq,
        }]);
    }
    lab.until("all datagrams have arrived", |reports| {
        reports.0.len() == 50
    });
    let mut last = 0;
    for (report, seq) in lab.reports.iter().zip(0..) {
        let Report::Datagram {
            flow: 0,
            departure,
            at,
            size,
        } = *report
        else {
            panic!("{report:?} is no datagram");
        };
        assert_eq!(size, 20 + 20 * seq);
        assert!(last <= departure && departure <= at && at < 60 * SECOND);
        last = departure;
    }
}

#[test]
fn echo_replies_arrive() {
    let Some(mut lab) = Lab::new(FlowKind::Echo) else {
        return;
    };
    // A second flow between the same hosts does not see the replies of the first one.
    let other = spec("b", FlowKind::Echo, &lab.ends, 10_001);
    lab.hosts.add_flow(other);
    let sizes = [28, 64, 1500];
    for (size, seq) in sizes.into_iter().zip(65_535..) {
        for flow in 0..2 {
            lab.hosts.send(&[Order::Echo { flow, size, seq }]);
        }
    }
    lab.until("all replies have arrived", |reports| reports.0.len() == 6);
    for flow in 0..2 {
        let replies = lab.reports.iter().filter(|report| {
            matches!(report, Report::Echo { flow: of, departure, at }
                if *of == flow && departure <= at && *at < 60 * SECOND)
        });
        assert_eq!(replies.count(), sizes.len());
    }
}

#[test]
fn hosts_stop_with_open_connections() {
    let Some(mut lab) = Lab::new(reno()) else {
        return;
    };
    lab.hosts.send(&[open(0, 0), write(u64::MAX, false)]);
    lab.until("the flow moves data", |reports| reports.read(0, 1) > 0);
    lab.hosts.stop();
}

#[test]
fn an_error_names_its_flow() {
    let Some(mut lab) = Lab::new(reno()) else {
        return;
    };
    let cca = "none".to_string();
    lab.hosts.add_flow(spec(
        "wrong",
        FlowKind::Tcp { cca, calls: PROMPT },
        &lab.ends,
        10_001,
    ));
    lab.hosts.send(&[Order::Open {
        flow: 1,
        connection: 0,
        from: 0,
    }]);
    let start = Instant::now();
    let error = loop {
        assert!(start.elapsed() < PATIENCE);
        if let Err(error) = lab.receive() {
            break error.to_string();
        }
    };
    let expected = "flow `wrong`: cannot use the congestion control `none` of Linux";
    assert!(error.starts_with(expected), "{error}");
}
